#include "endpoints.h"

#include <stddef.h>

/* The file itself, embedded by the assembler, so that there is one copy of it in the tree. */
__asm__(".section .rodata\n"
        ".global api_openapi_text, api_openapi_end\n"
        "api_openapi_text: .incbin \"api/openapi.json\"\n"
        "api_openapi_end: .byte 0\n"
        ".previous\n");
extern const char api_openapi_text[], api_openapi_end[];

bool endpoint_openapi(struct call *call, struct writer *out)
{
	(void)out;
	call->page = api_openapi_text;
	call->page_len = (size_t)(api_openapi_end - api_openapi_text);
	return true;
}
