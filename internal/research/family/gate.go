package family

import (
	"slices"
	"strconv"
	"strings"
)

// Gate is one failed gate of a verdict, immutable. Its two spellings are those
// of R§12.5: JSON in the stored verdict, the source's debug text in the detail
// of a row and as the order of gates.
type Gate struct {
	name   string // snake_case
	fields []field
}

// field is a named value: string, CheatCode, uint64 or float64.
type field struct {
	name  string
	value any
}

// Name returns the JSON name of the gate, such as "nll_miss".
func (g Gate) Name() string { return g.name }

func unreproduced() Gate  { return Gate{name: "unreproduced"} }
func contamination() Gate { return Gate{name: "contamination"} }
func agentReject() Gate   { return Gate{name: "agent_reject"} }
func unknownCustom() Gate { return Gate{name: "unknown_custom"} }

func flopsOverBudget(used, budget uint64) Gate {
	return Gate{"flops_over_budget", []field{{"used", used}, {"budget", budget}}}
}

func cheat(code CheatCode) Gate { return Gate{"cheat", []field{{"code", code}}} }

func evidenceMissing(name string) Gate {
	return Gate{"evidence_missing", []field{{"field", name}}}
}

func nllMiss(holdout, baseline, epsilon float64) Gate {
	return Gate{"nll_miss", []field{{"holdout", holdout}, {"baseline", baseline}, {"epsilon", epsilon}}}
}

func splitRegress(split string, holdout, baseline, epsilon float64) Gate {
	return Gate{"split_regress", []field{{"split", split}, {"holdout", holdout}, {"baseline", baseline}, {"epsilon", epsilon}}}
}

func qualityFloor(holdout, baseline, floor float64) Gate {
	return Gate{"quality_floor", []field{{"holdout", holdout}, {"baseline", baseline}, {"floor", floor}}}
}

func throughputMiss(value, baseline, epsilonRel float64) Gate {
	return Gate{"throughput_miss", []field{{"value", value}, {"baseline", baseline}, {"epsilon_rel", epsilonRel}}}
}

func wallOverBudget(used, budget uint64) Gate {
	return Gate{"wall_over_budget", []field{{"used", used}, {"budget", budget}}}
}

// String returns the debug text: `EvidenceMissing { field: "split_nll" }`.
func (g Gate) String() string { return string(g.appendDebug(nil)) }

func (g Gate) appendDebug(dst []byte) []byte {
	dst = append(dst, camel(g.name)...)
	if len(g.fields) == 0 {
		return dst
	}
	for i, f := range g.fields {
		dst = append(dst, between(i, " { ", ", ")...)
		dst = append(dst, f.name...)
		dst = append(dst, ": "...)
		switch v := f.value.(type) {
		case string:
			dst = strconv.AppendQuote(dst, v)
		case CheatCode:
			dst = append(dst, camel(string(v))...)
		case uint64:
			dst = strconv.AppendUint(dst, v, 10)
		case float64:
			dst = appendDebugFloat(dst, v)
		}
	}
	return append(dst, " }"...)
}

// between returns what stands before the item at index i of a list.
func between(i int, opening, comma string) string {
	if i == 0 {
		return opening
	}
	return comma
}

// AppendJSON appends the JSON of the gate: a string for a gate without fields,
// else an object with one member.
func (g Gate) AppendJSON(dst []byte) []byte {
	if len(g.fields) == 0 {
		return appendString(dst, g.name)
	}
	dst = append(dst, '{')
	dst = appendString(dst, g.name)
	dst = append(dst, ':')
	for i, f := range g.fields {
		dst = append(dst, between(i, "{", ",")...)
		dst = appendString(dst, f.name)
		dst = append(dst, ':')
		switch v := f.value.(type) {
		case string:
			dst = appendString(dst, v)
		case CheatCode:
			dst = appendString(dst, string(v))
		case uint64:
			dst = strconv.AppendUint(dst, v, 10)
		case float64:
			dst = appendFloat(dst, v)
		}
	}
	return append(dst, "}}"...)
}

// camel turns flops_over_budget into FlopsOverBudget and nll_miss into NllMiss.
func camel(snake string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(snake, "_") {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}

// ordered sorts gates by their debug text and drops repetitions (R§12.5): five
// missing splits are one gate.
func ordered(gates []Gate) []Gate {
	texts := make(map[string]Gate, len(gates))
	names := make([]string, 0, len(gates))
	for _, g := range gates {
		text := g.String()
		if _, known := texts[text]; !known {
			texts[text] = g
			names = append(names, text)
		}
	}
	slices.Sort(names)
	sorted := make([]Gate, len(names))
	for i, text := range names {
		sorted[i] = texts[text]
	}
	return sorted
}
