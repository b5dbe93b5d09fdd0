/* What MQX calls mqx_message.h. */
#include "../mqx_message.h"
