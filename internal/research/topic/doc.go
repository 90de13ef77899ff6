// Package topic is the signed topic document of the research challenge
// (specification "Publish a research topic", reference §5, "R§5" in comments).
//
// [Parse] reads a draft or a document strictly, YAML or JSON: an unknown,
// duplicate or wrong-case key, a null for what is not optional, a float for an
// integer is refused with its path. [Document.Payload] gives the signed bytes:
// the sorted compact JSON of the typed document with every default filled in and
// without the signature, so that a YAML draft and its JSON twin sign alike and a
// topic that uses none of the newer keys signs to the bytes it signed before
// they existed. [Document.Sign] and [Document.Verify] are sr25519 under the
// domain base-proof-topic-v1.
//
// [Document.Validate] holds a document against the pin: topics may tighten a
// floor, never loosen it. The order of checks and their texts are the
// reference's; the first failure wins.
package topic
