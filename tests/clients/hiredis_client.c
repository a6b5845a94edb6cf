/* A pipeline of throttles through hiredis: hiredis_client PORT. Exits with 1 and says why when an answer is not
 * the right one. */
#define _DEFAULT_SOURCE /* struct timeval under -std=c99 */
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#define REQUESTS 1000
#define BURST 100

static void fail(const char* what) {
  fprintf(stderr, "%s\n", what);
  exit(1);
}

static redisReply* next_reply(redisContext* context) {
  redisReply* reply = NULL;
  if (redisGetReply(context, (void**)&reply) != REDIS_OK || reply == NULL) fail(context->errstr);
  return reply;
}

int main(int argc, char** argv) {
  if (argc != 2) fail("usage: hiredis_client PORT");
  const struct timeval patience = {10, 0};
  redisContext* context = redisConnectWithTimeout("127.0.0.1", atoi(argv[1]), patience);
  if (context == NULL || context->err != 0) fail("cannot connect");
  redisSetTimeout(context, patience);

  const char key[] = {'h', '\0', '\r', '\n', '\xff'}; /* a key is bytes */
  for (int i = 0; i < REQUESTS; ++i) {
    redisAppendCommand(context, "CL.THROTTLE %b %d 1 3600", key, sizeof key, BURST - 1);
    redisAppendCommand(context, "ECHO %d", i);
  }
  for (int i = 0; i < REQUESTS; ++i) {
    redisReply* answer = next_reply(context);
    if (answer->type != REDIS_REPLY_ARRAY || answer->elements != 5) fail("not five values");
    for (size_t j = 0; j < 5; ++j) {
      if (answer->element[j]->type != REDIS_REPLY_INTEGER) fail("not integers");
    }
    const int left = i < BURST ? BURST - 1 - i : 0;
    if (answer->element[0]->integer != (i >= BURST)) fail("wrong verdict");
    if (answer->element[1]->integer != BURST) fail("wrong limit");
    if (answer->element[2]->integer != left) fail("wrong remaining");
    if ((answer->element[3]->integer == -1) != (i < BURST)) fail("wrong retry_after");
    freeReplyObject(answer);

    redisReply* echo = next_reply(context);
    char wanted[16];
    snprintf(wanted, sizeof wanted, "%d", i);
    if (echo->type != REDIS_REPLY_STRING || strcmp(echo->str, wanted) != 0) fail("replies out of order");
    freeReplyObject(echo);
  }

  redisReply* error = redisCommand(context, "CL.THROTTLE k 1 1 0");
  if (error == NULL || error->type != REDIS_REPLY_ERROR || strncmp(error->str, "ERR period: ", 12) != 0) {
    fail("not the error");
  }
  freeReplyObject(error);
  redisReply* forgotten = redisCommand(context, "DEL %b", key, sizeof key);
  if (forgotten == NULL || forgotten->type != REDIS_REPLY_INTEGER || forgotten->integer != 1) fail("not forgotten");
  freeReplyObject(forgotten);
  redisFree(context);
  puts("ok");
  return 0;
}
