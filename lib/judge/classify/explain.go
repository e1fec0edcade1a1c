package classify

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rivo/uniseg"
	"github.com/tidwall/gjson"

	"tri/lib/base/stream"
	"tri/lib/base/text"
)

// Explain is the filter for people: for each record it writes a line with the message and a line that
// gives its class and the reasons in words. Custom rules apply as in Stage.
func (c *Classifier) Explain() stream.Stage[Event] {
	st := c.state()
	return stream.Stage[Event]{
		Prepare: c.Prepare,
		Begin:   st.begin,
		Emit: func(dst []byte, e *Event) ([]byte, error) {
			st.place(e)
			return append(dst, c.words(e, st.classified(nil, e), &st.memory.asked.marks)...), nil
		},
		Warm: func(e *Event) { st.place(e) },
	}
}

// words describes the classification of an event, as in its record, and what counted around it.
func (c *Classifier) words(e *Event, line []byte, m *marks) string {
	v := &e.verdict
	var why []string
	for _, reason := range v.reasons[:v.nreasons] {
		why = append(why, c.inWords(int(reason)))
	}
	said := gjson.GetManyBytes(line, "classification", "classifier_confidence", "lang", "sender.name")
	lang := ""
	if said[2].Exists() {
		lang = ", language " + text.Visible(said[2].String())
	}
	sum := ""
	if v.stand.weighed {
		sum = "    " + c.sum(v, m) + "\n"
	}
	return fmt.Sprintf("%s: %s\n    %s (%s%s): %s\n%s", oneLine(cmp.Or(said[3].String(), string(e.from)), 30),
		oneLine(string(e.says), 100),
		said[0].String(), said[1].Raw, lang, strings.Join(why, "; "), sum)
}

// sum writes the points of a message as those of the strongest features and of the rest.
func (c *Classifier) sum(v *verdict, around *marks) string {
	const most = 5
	type share struct {
		of     feature
		points int32
	}
	all := []share{{ofWords, v.worth}}
	for _, n := range around.at[:around.n] {
		all = append(all, share{featureOf(n), int32(c.model.values[n].worth)})
	}
	slices.SortStableFunc(all, func(a, b share) int {
		return cmp.Compare(max(b.points, -b.points), max(a.points, -a.points))
	})
	out, rest := fmt.Sprintf("%+d points, actionable from %d:", v.stand.points, c.model.from), v.stand.points
	for _, s := range all[:min(len(all), most)] {
		out += fmt.Sprintf(" %+d %s,", s.points, features[s.of].words)
		rest -= s.points
	}
	out = fmt.Sprintf("%s %+d the rest", out, rest)
	if v.stand.points >= c.model.from && !v.stand.wanted {
		out += "; the room has too few messages to tell"
	}
	return out
}

// oneLine returns text as one line for a terminal, cut to n grapheme clusters.
func oneLine(s string, n int) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s[:min(len(s), 40*n)], "")), " ")
	g := uniseg.NewGraphemes(s)
	for i := 0; g.Next(); i++ {
		if i == n {
			from, _ := g.Positions()
			return text.Visible(s[:from]) + "…"
		}
	}
	return text.Visible(s)
}

var reasonWords = [whySign]string{
	whyMention: "it mentions the bot", whyEndMark: "it ends with a question mark",
	whyMark: "it has a question mark",
	whyIdle: "it is small talk, which asks nothing", whyAck: "it is short and only acknowledges",
	whyEmoji:  "it has no words, only signs",
	whyThanks: "it gives thanks and asks nothing", whySettles: "who was helped says that it is settled",
	whyChatter: "a team member talks to a team member", whyTeam: "and nobody else asked",
	whyInflight: "its thread was opened by a question a while ago",
	whyFollows:  "it goes on with what its writer is being helped with",
	whyProblem:  "its writer tells of a problem",
	whyAnswers:  "it answers somebody who asked", whyClarifies: "it asks back, of somebody who asked",
	whyHelps: "its writer is helping somebody", whyHelper: "its writer mostly helps others",
	whyLater: "it promises, and says nothing yet",
	whyOwn:   "it is the bot's own", whyBot: "another bot wrote it", whyDeleted: "it was deleted",
	whyNone: "nothing in it asks",
}

// inWords describes a reason for a person.
func (c *Classifier) inWords(reason int) string {
	switch {
	case reason < whySign:
		return reasonWords[reason]
	case reason < fixedReasons:
		return features[reason-whySign].words
	case reason < c.firstPattern:
		return fmt.Sprintf("the words %q ask", c.lex.phrase(reason-fixedReasons))
	case reason < c.firstPattern+len(c.ackPatterns):
		return fmt.Sprintf("ack_patterns[%d] of the configuration matches", reason-c.firstPattern)
	}
	for _, r := range c.rules {
		if r.reason == reason {
			return fmt.Sprintf("the rule %q of the configuration holds", r.name)
		}
		if r.reason+1 == reason {
			return fmt.Sprintf("the rule %q of the configuration failed", r.name)
		}
	}
	return ""
}
