/* The envelope as a tree, by jansson, whose memory lies in the request's arena or, of a small tree, with the thread. */
#ifndef API_JSON_TREE_H
#define API_JSON_TREE_H

#include <stdbool.h>

struct call;

/* Points jansson's allocation at this file. Once, before any other use of jansson in the process. */
void json_tree_setup(void);

/*
 * Parses the call's envelope into call->root, an object that nobody may change and that lives until this thread parses the
 * next one. false with the call's problem set.
 */
bool json_tree_parse(struct call *call);

#endif
