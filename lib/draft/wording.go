package draft

import (
	"regexp"
	"slices"
	"strings"
)

// The lists below are English and Indonesian, the languages of the first packs.
// They are matched in lower case, over the draft's own words: code and quoted
// lines are the codebase's, not the writer's.

var smells = compile(
	// offers, praise, apology
	`\b(?:i'?d|i would) be (?:happy|glad|delighted) to\b`, `\b(?:happy|glad) to (?:help|assist)\b`, `\b(?:great|good|excellent|fantastic) question\b`,
	`\bfeel free to\b`, `\bdon'?t hesitate to\b`, `\bdo not hesitate to\b`, `\blet me know if (?:you|there|i)\b`, `\b(?:i )?hope (?:this|that) (?:helps|clarifies|answers)\b`,
	`\bi (?:sincerely |do |deeply )?apologi[sz]e\b`, `\bmy (?:sincere |sincerest )?apologies\b`, `\bsorry for (?:any|the) (?:inconvenience|confusion|trouble|delay)\b`,
	`^(?:certainly|absolutely|of course|sure thing|sure|definitely)!`, `\bthank you for (?:reaching out|your (?:question|patience|inquiry))\b`,
	// what only a model says of itself
	`\bas an? (?:ai|artificial intelligence|(?:large )?language model|assistant)\b`, `\bi'?m (?:just )?an? (?:ai|assistant|language model)\b`,
	`\bas of my (?:last|knowledge|training)\b`, `\b(?:knowledge|training) cut-?off\b`, `\bmy training data\b`,
	// disclaimers and padding
	`\bit(?:'s| is) (?:important|worth|crucial|essential) (?:to (?:note|remember|mention|keep in mind)|noting|mentioning)\b`, `\bplease note that\b`,
	`\bi (?:cannot|can'?t) guarantee\b`, `\b(?:consult|seek) (?:a |an |with a |your )?(?:professional|qualified|expert|legal)`, `\brest assured\b`,
	`\bin (?:conclusion|summary),`, `\bdelv(?:e|ing) into\b`, `\bdive deep(?:er)?\b`, `\bin today's (?:world|fast)`, `\bi'?ve gone ahead and\b`,
	// Indonesian
	`\bdengan senang hati\b`, `\bsaya (?:sangat )?senang (?:bisa |dapat )?membantu\b`, `\bsemoga (?:ini |jawaban ini |penjelasan ini )?(?:membantu|bermanfaat)\b`,
	`\bjangan (?:ragu|sungkan)\b`, `\bmohon maaf (?:atas|yang sebesar)`, `\bsebagai (?:sebuah )?(?:ai|model bahasa|asisten ai|kecerdasan buatan)\b`,
	`\bpertanyaan (?:yang )?(?:bagus|hebat|menarik)\b`, `\b(?:perlu|penting untuk) (?:dicatat|diingat|diperhatikan)\b`, `\bsilakan hubungi (?:kami|saya)\b`,
)

var hedges = regexp.MustCompile(`(?i)\b(?:might|may|maybe|perhaps|possibly|probably|presumably|likely|seems?|appears?|could be|i (?:think|believe|guess|suspect|assume)|` +
	`mungkin|kemungkinan|sepertinya|kayaknya|barangkali|agaknya|kira-kira)\b`)

var apologies = regexp.MustCompile(`(?i)\b(?:sorry|apolog\w+|maaf)\b`)

const (
	maxHedges    = 3  // in a draft, however long
	hedgeEvery   = 25 // words that one hedge is allowed
	maxApologies = 1
)

// Smell lists the phrases by which text reads as written by a machine: offers of
// help, hedging, apology, disclaimers (triage §3.4, check 7).
func Smell(text string, s Sources) []string {
	own := strings.ToLower(ownWords(text, s, false))
	found := matches(smells, own)
	if n := len(hedges.FindAllString(own, -1)); n > maxHedges && n*hedgeEvery > Words(own) {
		found = append(found, "hedging in every sentence")
	}
	if len(apologies.FindAllString(own, -1)) > maxApologies {
		found = append(found, "more than one apology")
	}
	return found
}

var (
	certain = compile(
		`\bdefinitely\b`, `\bcertainly\b`, `\balways\b`, `\bguaranteed?\b`, `\bundoubtedly\b`, `\bwithout (?:a |any )?doubt\b`, `\bfor sure\b`,
		`\b100 ?%`, `\babsolutely\b`, `\bobviously\b`, `\bno question\b`, `\bimpossible\b`, `\bi'?m (?:sure|certain)\b`,
		`\bpasti\b`, `\bselalu\b`, `\bdijamin\b`, `\btanpa ragu\b`, `\bmustahil\b`, `\bsudah jelas\b`,
	)
	surer = compile(`\bnever\b`, `\bclearly\b`, `\bmust be\b`, `\btidak (?:akan )?pernah\b`)
	shaky = compile(`\bi'?m not (?:sure|certain)\b`, `\bnot (?:entirely|completely|quite) (?:sure|certain)\b`, `\bi guess\b`, `\bmy guess\b`, `\bi suspect\b`,
		`\bkurang yakin\b`, `\btidak yakin\b`, `\btebakan\b`)
)

// Misjudged lists the words of text that do not fit its confidence: certainty
// beside medium or low, guessing beside high (triage §3.4, check 3).
func Misjudged(text, confidence string, s Sources) []string {
	own := strings.ToLower(ownWords(text, s, false))
	switch confidence {
	case High:
		return matches(shaky, own)
	case Low:
		return append(matches(certain, own), matches(surer, own)...)
	}
	return matches(certain, own)
}

// advice comes before a verb in a sentence that tells somebody to do something: a
// word of advice a little before it, or nothing, as in a command.
const advice = `(?:(?:\b(?:you|we) (?:should|could|can|need to|must|have to|may want to|might want to)|\bplease\b|\b(?:i|we) (?:would )?(?:recommend|suggest|advise)\w*|` +
	`\b(?:solution|fix|workaround|answer|best|way|solve this|fix this) is to|\bsimply\b|\bjust\b|\btry\b|\b(?:sebaiknya|silakan|coba|tolong|harus|perlu)\b)[^.\n]{0,40}?\b|` +
	`(?:^|[.!:;]\s+|\n\s*(?:[-*]|\d+[.)])?\s*)(?:then |first |now )?)`

var risks = []struct {
	name string
	res  []*regexp.Regexp
}{
	{"a change of code", compile(
		advice+`(?:chang(?:e|ing)|edit(?:ing)?|modify(?:ing)?|patch(?:ing)?|refactor(?:ing)?|rewrit(?:e|ing)|replac(?:e|ing)|remov(?:e|ing)|delet(?:e|ing)|comment(?:ing)? out|hard-?cod(?:e|ing)|merg(?:e|ing)|ubah|ganti|hapus|tambahkan)\b`,
		"```(?:diff|patch)\\b", `\bgit (?:apply|am|cherry-pick|merge)\b`, `\bapply (?:this|the|that) (?:following )?(?:patch|diff|change|fix)\b`,
	)},
	{"a rollback", compile(`\brollback to\b`, `\broll(?:ing)? (?:it |this |that |the \w+ )?back\b`, `\bgit (?:revert|reset)\b`, advice+`(?:revert|rollback|downgrade)\b`,
		`\bkembali(?:kan)? ke versi\b`, `\bkubectl rollout undo\b`, `\bhelm rollback\b`)},
	{"deletion of data", compile(
		`\bdrop (?:the )?(?:table|database|index|schema|collection|column)\b`, `\btruncate (?:the )?\w+`, `\bdelete from\b`, `\brm -\w*[rf]`, `\bflush(?:all|db)\b`,
		advice+`(?:delete|remove|purge|wipe|erase|drop|clear|hapus|kosongkan)\b[^.\n]{0,40}\b(?:data|rows?|records?|tables?|database|bucket|volumes?|files?|users?|accounts?|queue|topic|cache|index|logs?|backups?|tabel|baris|berkas|antrian|akun)\b`,
		`\bkubectl delete\b`, `\bdocker (?:volume|system|image) (?:rm|prune)\b`, `\bgit push (?:\S+ )*(?:--force|-f)\b`, `\bgit clean -\w*f`, `\bterraform destroy\b`, `\bmkfs\b`, `\bdd if=`,
	)},
	{"work on production", compile(
		advice+`(?:restart|reboot|redeploy|deploy|fail ?over|scale (?:up|down)|stop|kill|shut down|migrate|hotfix|mulai ulang|matikan)(?:ing)?\b[^.\n]{0,40}\b(?:prod|production|live|servers?|services?|clusters?|pods?|databases?|nodes?|workers?|instances?|queue|produksi|layanan)\b`,
		`\b(?:systemctl|service) (?:restart|stop|kill)\b|\bsystemctl \w+ (?:restart|stop)\b`, `\bkubectl (?:rollout|scale|drain|cordon|apply|exec)\b`, `\b(?:on|in|di) (?:prod|production|produksi)\b[^.\n]{0,40}\b(?:run|execute|jalankan)\b|\b(?:run|execute|jalankan)\b[^.\n]{0,60}\b(?:on|in|against|di) (?:prod|production|produksi)\b`,
	)},
	{"an action for one customer", compile(
		`\b(?:refund|reimburse|compensate|charge ?back|waive|credit)\b[^.\n]{0,40}\b(?:customers?|clients?|merchants?|tenants?|accounts?|subscriptions?|users?|invoices?|orders?|payments?|charges?|them|him|her|pelanggan|pesanan)\b`,
		advice+`(?:suspend|unsuspend|ban|unban|close|cancel|upgrade|unlock|whitelist|allowlist|blokir|batalkan)\b[^.\n]{0,40}\b(?:customers?|clients?|merchants?|tenants?|accounts?|subscriptions?|users?|orders?|pelanggan|akun|pesanan)\b`,
	)},
	{"handling of credentials", compile(
		`\b(?:rotate|revoke|regenerate|share|send|paste|post|reset|expose|hard-?code|disable|bagikan|kirim|cabut)\b[^.\n]{0,40}\b(?:credentials?|secrets?|passwords?|api keys?|tokens?|private keys?|certificates?|mfa|2fa|sandi|kunci)\b`,
		`\bchmod (?:-r )?0?777\b`, `--no-verify\b|--insecure\b`, advice+`(?:disable|turn off|skip|bypass|matikan|lewati)\b[^.\n]{0,40}\b(?:tls|ssl|auth\w*|verification|validation|firewall|checks?|sandbox)\b`,
		`\b(?:curl|wget)\b[^|\n]*\|\s*(?:sudo )?(?:ba|z)?sh\b`, `\bsudo\b`,
	)},
}

// Risk lists why text needs high confidence: it tells somebody to change code,
// roll back, delete, touch production, act for one customer or handle
// credentials (triage §3.4, check 6). A description of what the code does is no
// advice; a command is, unless it stands in the evidence to the letter.
func Risk(text string, s Sources) []string {
	own := strings.ToLower(ownWords(text, s, true))
	var found []string
	for _, r := range risks {
		if m := matches(r.res, own); len(m) > 0 {
			found = append(found, r.name+" ("+m[0]+")")
		}
	}
	return found
}

func compile(exprs ...string) []*regexp.Regexp {
	out := make([]*regexp.Regexp, len(exprs))
	for i, e := range exprs {
		out[i] = regexp.MustCompile(`(?i)` + e)
	}
	return out
}

// matches lists what stands in text, each once, short enough for a note.
func matches(res []*regexp.Regexp, text string) []string {
	var found []string
	for _, re := range res {
		if m := re.FindString(text); m != "" {
			m = `"` + clip(strings.Join(strings.Fields(m), " ")) + `"`
			if !slices.Contains(found, m) {
				found = append(found, m)
			}
		}
	}
	return found
}

var (
	fences = regexp.MustCompile("(?s)```[^\n]*\n(.*?)(?:```|$)")
	ticks  = regexp.MustCompile("`[^`\n]+`")
)

// ownWords is text without the lines that stand in the evidence to the letter
// and, unless commands matter, without code.
func ownWords(text string, s Sources, commands bool) string {
	text = strings.NewReplacer("’", "'", "‘", "'").Replace(text)
	quoted := map[string]bool{}
	for _, r := range s.Refs {
		for _, l := range strings.Split(r.Quote, "\n") {
			if l = strings.TrimSpace(l); len(l) > 3 {
				quoted[l] = true
			}
		}
	}
	var kept []string
	for _, l := range strings.Split(text, "\n") {
		t := strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(l), "> "))
		if quoted[t] || quoted[strings.Trim(t, "`")] {
			l = ""
		}
		kept = append(kept, l)
	}
	text = strings.Join(kept, "\n")
	if commands {
		return text
	}
	text = ticks.ReplaceAllString(fences.ReplaceAllString(text, "\n"), " x ")
	return text
}
