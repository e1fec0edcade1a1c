package schemas_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tri/lib/record/draft"
)

// TestBroken breaks the first example of each record in every way that its
// schema forbids: each must be refused.
func TestBroken(t *testing.T) {
	w := walker{t, all(t)}
	for name := range records {
		schema := compile(t, name)
		good := examples(t, name)[0]
		refuse := func(what string, change func(object)) {
			t.Helper()
			bad := parse(t, good)
			change(bad)
			if schema.Validate(bad) == nil {
				t.Errorf("%s: %s is accepted", name, what)
			}
		}
		props, required := w.fields(name, w.docs[name])
		for _, field := range required {
			refuse("no "+field, func(o object) { delete(o, field) })
		}
		for _, field := range slices.Sorted(maps.Keys(props)) {
			_, prop := w.resolve(props[field]["in"].(string), asObject(props[field]["node"]))
			for what, value := range wrong(prop) {
				refuse(field+" "+what, func(o object) { o[field] = value })
			}
		}
	}
}

// wrong gives values that a property must not have.
func wrong(prop object) map[string]any {
	bad := map[string]any{}
	if prop["type"] != nil {
		bad["of a wrong type"] = object{"a": "b"}
		if prop["type"] == "object" || slices.Contains(asList(prop["type"]), "object") {
			bad["of a wrong type"] = "b"
		}
	}
	if prop["enum"] != nil {
		bad["outside its list"] = "surely not"
	}
	if f, ok := prop["format"].(string); ok && strings.HasPrefix(f, "date") {
		bad["in no form of time"] = "yesterday"
		bad["on no day"] = "2025-02-30T00:00:00Z"
	}
	if prop["pattern"] != nil {
		bad["against its pattern"] = "\n \x00"
	}
	if prop["minLength"] != nil {
		bad["empty"] = ""
	}
	if n, ok := prop["maxLength"].(json.Number); ok {
		most, _ := n.Int64()
		bad["too long"] = strings.Repeat("a", int(most)+1)
	}
	if n, ok := prop["minimum"].(json.Number); ok {
		least, _ := n.Float64()
		bad["too small"] = least - 1
	}
	if n, ok := prop["maximum"].(json.Number); ok {
		most, _ := n.Float64()
		bad["too large"] = most + 1
	}
	if n, ok := prop["maxItems"].(json.Number); ok {
		most, _ := n.Int64()
		bad["too many"] = slices.Repeat([]any{"a"}, int(most)+1)
	}
	return bad
}

// TestRules are the rules between fields.
func TestRules(t *testing.T) {
	for _, c := range []struct {
		name    string
		example int // of examples/records, from 0
		what    string
		change  func(object)
	}{
		{"event", 0, "a sender without type", func(o object) { delete(o["sender"].(object), "type") }},
		{"event", 0, "a sender that is neither user nor bot", func(o object) {
			o["sender"].(object)["type"] = "app"
		}},
		{"event", 4, "an attachment without name", func(o object) {
			delete(o["attachments"].([]any)[0].(object), "name")
		}},
		{"classified-event", 0, "a broken event inside", func(o object) { o["create_time"] = "now" }},
		{"return", 0, "nine references", func(o object) {
			o["evidence_refs"] = slices.Repeat(o["evidence_refs"].([]any)[:1], 9)
		}},
		{"return", 0, "a kind of evidence that there is not", func(o object) { ref(o)["kind"] = "hearsay" }},
		{"return", 0, "a reference of two lines", func(o object) { ref(o)["ref"] = "a.go:1\nb.go:2" }},
		{"return", 0, "a receipt without hash", func(o object) {
			delete(ref(o)["receipt"].(object), "sha256")
		}},
		{"return", 0, "a note that leaves its folder", func(o object) {
			o["proposed_triage_file"].(object)["filename"] = "../x.md"
		}},
		{"return", 0, "a cost below nothing", func(o object) { o["usage"].(object)["cost_usd"] = -1 }},
		{"verdict", 1, "a bounce without feedback", func(o object) { o["bounce_feedback"] = nil }},
		{"verdict", 0, "a pass over a fabricated reference", func(o object) {
			o["spot_check_result"] = "fabricated"
		}},
		{"verdict", 0, "a pass over a contradicting reference", func(o object) {
			o["spot_check_result"] = "contradicts"
		}},
		{"verdict", 0, "a pass over a broken schema", func(o object) { o["schema_check"] = "fail" }},
		{"verdict", 0, "a pass over a failed risk gate", func(o object) { o["risk_gate_check"] = "fails" }},
		{"verdict", 0, "a pass over AI smell", func(o object) { o["tone_assessment"] = "ai_smell" }},
		{"verdict", 0, "a check by nobody", func(o object) {
			o["checks"].([]any)[0].(object)["by"] = "hope"
		}},
		{"thread", 0, "a key that is a path", func(o object) { o["key"] = "../../etc/passwd" }},
		{"thread", 0, "a broken return inside", func(o object) {
			o["investigator_return"].(object)["confidence"] = "total"
		}},
		{"thread", 0, "a broken verdict inside", func(o object) {
			o["validator_return"].(object)["verdict"] = "fine"
		}},
		{"thread", 0, "a third round", func(o object) { o["investigator_round"] = 3 }},
		{"decision", 0, "an offer without text", func(o object) { delete(o, "text") }},
		{"decision", 0, "an offer without target", func(o object) { delete(o, "target") }},
		{"decision", 0, "an offer without hash", func(o object) { o["draft_sha256"] = "" }},
		{"decision", 1, "an approval without text", func(o object) { delete(o, "text") }},
		{"decision", 3, "an edit of nothing", func(o object) { delete(o, "original_sha256") }},
		{"decision", 5, "a settle without outcome", func(o object) { delete(o, "outcome") }},
		{"outbox-entry", 1, "posted without a time", func(o object) { delete(o, "posted_at") }},
		{"outbox-entry", 2, "parked without a reason", func(o object) { delete(o, "why") }},
		{"outbox-entry", 0, "a key that no platform takes", func(o object) { o["post_key"] = "A b" }},
		{"reply", 0, "posted without an id, or a person's word for it", func(o object) {
			o["posted_message_id"] = ""
		}},
		{"run", 0, "done without a value", func(o object) { delete(o, "value") }},
		{"run", 0, "an investigation with a verdict", func(o object) {
			o["value"] = object{"verdict": "pass"}
		}},
		{"run", 2, "failed without an error", func(o object) { delete(o, "error") }},
		{"todo", 0, "a due time that is none", func(o object) { o["due"] = "tomorrow" }},
		{"spend", 0, "no such day", func(o object) { o["day"] = "2025-02-30" }},
	} {
		record := parse(t, examples(t, c.name)[c.example])
		schema := compile(t, c.name)
		if err := schema.Validate(record); err != nil {
			t.Errorf("%s %d before the change: %v", c.name, c.example, err)
		}
		c.change(record)
		if schema.Validate(record) == nil {
			t.Errorf("%s: %s is accepted", c.name, c.what)
		}
	}
}

func ref(o object) object { return o["evidence_refs"].([]any)[0].(object) }

// TestCaps: the numbers in the return's schema are those that code holds it to.
func TestCaps(t *testing.T) {
	props := asObject(all(t)["return"]["properties"])
	ref := asObject(asObject(asObject(all(t)["return"]["$defs"])["evidence_ref"])["properties"])
	for _, c := range []struct {
		node object
		word string
		want int
	}{
		{asObject(props["evidence_refs"]), "maxItems", draft.MaxRefs},
		{asObject(props["open_questions"]), "maxItems", draft.MaxQuestions},
		{asObject(props["draft_reply"]), "maxLength", draft.MaxDraftRunes},
		{asObject(props["research_notes"]), "maxLength", draft.MaxNoteRunes},
		{asObject(props["summary_for_orchestrator"]), "maxLength", draft.MaxSentenceRunes},
		{asObject(props["investigator_round"]), "maximum", draft.MaxRound},
		{asObject(ref["ref"]), "maxLength", draft.MaxRefRunes},
		{asObject(ref["quote"]), "maxLength", draft.MaxQuoteRunes},
	} {
		if n, ok := c.node[c.word].(json.Number); !ok || n.String() != strconv.Itoa(c.want) {
			t.Errorf("%v: %s is %v, code says %d", c.node["description"], c.word, c.node[c.word], c.want)
		}
	}
}
