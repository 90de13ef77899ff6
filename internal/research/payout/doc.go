// Package payout computes who is paid what for an epoch of the research
// challenge (specification "Product rules"; reference §§13 and 28, R§n in this
// package; decisions 3 and 4 of the design). It is pure: rows and topics in,
// masses and leaves out, no clock, store, network or randomness.
//
// The way of the data:
//
//	rows, open topics, promotions --Close--> Snapshot --Payout--> Result --Leaves--> Leaf
//
// [Close] happens once, at the end of an epoch; its snapshot is stored and never
// changed, and [Payout] replays from it for ever, byte for byte. A caller maps
//
//	Topic        id, payout_mode, discovery.*, metric.direction of a topic open in the epoch,
//	             and family.Topic.PrimaryOf its sealed measurement
//	Row          one persisted submission; ID is the counter of its pf_ id, Epoch that
//	             of its acceptance, Primary family.Topic.PrimaryOf its harness
//	Promotion    one promotion event, Epoch that of its row
//
// What it promises:
//
//   - Masses are integers. Those of a topic never exceed its share, all of them
//     never exceed 1 000 000 (8000 bps).
//   - The order in which rows are handed in changes nothing: ids order them.
//   - A run that failed changes nobody's mass; it only pays its miner nothing.
//   - An artefact earns novelty for one miner in one epoch: whoever repeats it,
//     in this epoch or a later one, has novelty 0 on that topic.
//   - No open topic is NoScore for everybody, never a paid 0.
//
// The limit (decision 4): hotkeys are free. Floors are shared out among passes,
// so one person with many keys can collect many floors; nothing here sees that.
package payout
