/* Runs what the library has. Ends with 0, or with the number of the step that went wrong. */
#include <stdint.h>

uint32_t narrows_core_only(void);

int main(void) { return (int)narrows_core_only(); }
