package issuer

import "strings"

// Plan is what a key may do. The prefix of the key alone decides it (T§2).
type Plan string

// The plans of T§2.
const (
	PlanFree       Plan = "free"
	PlanTrial      Plan = "trial"
	PlanPro        Plan = "pro"
	PlanEnterprise Plan = "enterprise"
	PlanPlatform   Plan = "platform"
	PlanTest       Plan = "test"
	PlanInternal   Plan = "internal"
)

// Quota bounds the proofs of a key. Monthly 0 means that the plan has no
// monthly quota; Daily is always set.
type Quota struct {
	Monthly int64
	Daily   int64
}

// planRow is one row of the table of T§2.
type planRow struct {
	plan   Plan
	prefix string
	quota  Quota
	// charge is what certification_fee's method, transaction_id and status
	// read (T§4.9); empty marks the prepaid branch.
	charge string
}

// planTable is T§2. A key with none of these prefixes is pro.
func planTable() []planRow {
	return []planRow{
		{PlanFree, "mcp_free_", Quota{500, 500}, "free_tier"},
		{PlanTrial, "mcp_trial_", Quota{5000, 5000}, ""},
		{PlanPro, "mcp_pro_", Quota{5000, 5000}, "subscription"},
		{PlanEnterprise, "mcp_ent_", Quota{50000, 50000}, "subscription"},
		{PlanPlatform, "mcp_plat_", Quota{500000, 500000}, ""},
		{PlanTest, "mcp_test_", Quota{0, 100}, "free_tier"},
		{PlanInternal, "mcp_int_", Quota{0, 10000}, "internal"},
	}
}

// plans is the plan table of one service, with the operator's quotas in place.
type plans struct {
	rows []planRow
	pro  planRow
}

func newPlans(override map[Plan]Quota) *plans {
	p := &plans{rows: planTable()}
	for i := range p.rows {
		if q, ok := override[p.rows[i].plan]; ok {
			p.rows[i].quota = q
		}
		if p.rows[i].plan == PlanPro {
			p.pro = p.rows[i]
		}
	}
	return p
}

func (p *plans) of(key string) planRow {
	for _, r := range p.rows {
		if strings.HasPrefix(key, r.prefix) {
			return r
		}
	}
	return p.pro
}

func (p *plans) named(name Plan) (planRow, bool) {
	for _, r := range p.rows {
		if r.plan == name {
			return r, true
		}
	}
	return planRow{}, false
}
