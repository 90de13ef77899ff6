// Package judge calls the model that judges a run of the research challenge: an
// OpenAI-compatible backend under the configuration that the live inference offer,
// the pin and the topic resolve to (specification "Product rules"; reference §7,
// "R§7" in comments). It is a library for what runs beside the miner's code, the
// guest's manager and the evaluation image. The control plane never calls a judge.
//
//	c, err := judge.New(judge.For(resolved, liveOffer, keyFile))
//	reply, err := c.Chat(ctx, judge.Prompt{Messages: …})
//	object, err := reply.Object(judge.About{TopicID: id, Subject: digest})
//
// # Invariants
//
//   - The key is read from its file for every call and stays inside that call: it
//     is in no error, no text of fmt and in no reply, and neither is the origin.
//     Nothing of what a backend says about a failure is repeated, because backends
//     quote keys there.
//   - No more is asked than the caps allow: a prompt is refused when the most
//     tokens it can come to are over the input cap, max_tokens is always sent, and
//     a reply whose usage is over either is no reply.
//   - What comes back is bounded in bytes and time, comes from the origin that was
//     asked (no redirect is followed, no proxy of the environment is used) and from
//     the model that was asked for.
//   - An answer that must be about one topic says which it is about, or is refused.
//
// # What is sent twice
//
// A call costs money, so it is repeated only when the first cannot have been served:
//
//   - no connection came about, so that nothing was sent;
//   - the backend answered 429 or 503, which say that it did not serve.
//
// A gateway's 502 or 504 may stand for a call that was served and paid for, whatever
// its Retry-After says: it is not repeated.
//
// Nothing is repeated once an answer has begun, nor when time ran out behind a sent
// request. Retry-After is honoured; one that does not fit into the time of the call
// ends it at once.
package judge
