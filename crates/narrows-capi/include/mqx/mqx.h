/* So that a program needs this folder alone. */
#include "../mqx.h"
