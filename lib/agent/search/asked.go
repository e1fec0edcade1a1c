package search

import (
	"slices"
	"strings"

	"tri/lib/base/lazyregexp"
)

// asks is what a question of a common kind asks of a name.
type asks string

const (
	asksWhere   asks = "where"
	asksDefault asks = "default"
	asksValues  asks = "values"
	asksCallers asks = "callers"
	asksError   asks = "error"
	asksConfig  asks = "config"
	asksReturns asks = "returns"
	asksWhat    asks = "what"
)

// maxMessage is how many words a message has at most that is asked about.
const maxMessage = 12

// maxAsked is how many words a question of a common kind has at most.
const maxAsked = 30

// kinds recognize the common kinds of questions; the groups are the name asked about. The first that
// matches counts.
var kinds = []struct {
	asks
	pattern *lazyregexp.Pattern
}{
	{asksError, lazyregexp.New(`(?i)\b(?:where|what|when|why)\b.*?` + message)},
	{asksError, lazyregexp.New(`(?i)` + message + `.*\b(?:means?|why|when|come|where|what|causes?)\b`)},
	{asksCallers, lazyregexp.New(`(?i)\b(?:what|who|which (?:functions?|methods?|code|places?|files?|callers?))(?: all| else| actually| in (?:the|this) (?:code|repo|codebase))? (?:calls?|uses?|invokes?|(?:is|are) (?:calling|using))\s+(.+)$`)},
	{asksCallers, lazyregexp.New(`(?i)\b(?:where|from where)(?: all| else)?(?:'s| is| are| do we| does (?:it|the code)| gets?) (.+?) (?:(?:being |getting |get |actually )?(?:called|used|invoked))(?: from)?$`)},
	{asksCallers, lazyregexp.New(`(?i)\bwhere(?: all| else)? do (?:we|you|they|i) (?:use|call|invoke) (.+)$`)},
	{asksCallers, lazyregexp.New(`(?i)\b(?:callers?|usages?|uses) of (.+)$`)},
	{asksReturns, lazyregexp.New(`(?i)\bwhat (?:does|do|will|would) (.+?) (?:return|give back|yield)(?: exactly)?$`)},
	{asksReturns, lazyregexp.New(`(?i)\b(?:return (?:type|value)s? of|returned by|result type of) (.+)$`)},
	{asksError, lazyregexp.New(`(?i)\b(?:get|gets|got|getting|see|seeing) (?:an? |the )?(?:error )?([^\s,]+?),? (?:and )?what does (?:that|it|this) mean$`)},
	{asksError, lazyregexp.New(`(?i)\bwhat does (?:the )?(?:error |exception |message )(.+?) mean$`)},
	{asksError, lazyregexp.New(`(?i)\bwhat does (.+?)(?: error| exception)? mean$`)},
	{asksError, lazyregexp.New(`(?i)\bwhere does (?:the )?(?:error |exception |message )+(.+?) (?:come|originate)(?: from)?$`)},
	{asksError, lazyregexp.New(`(?i)\bwhen (?:is|are|do (?:i|we|you) get|would (?:i|we|you) get|will (?:i|we|you) get) (?:an? |the )?(?:error )?(.+?)(?: (?:returned|raised|thrown|reported))?$`)},
	{asksError, lazyregexp.New(`(?i)\b(?:what|who|where)(?: is| does| do)?(?: it)? (?:raises?|throws?|reports?) (.+)$`)},
	{asksError, lazyregexp.New(`(?i)\bwhen (?:do|does|can|could|would|will) (?:we |you |i |it |the code )?(?:get|see|throw|raise|return|report|hit)? ?(?:an? |the )?(?:error )?(.+?)(?: (?:happen|occur|appear|come up|be raised|be thrown|get (?:raised|thrown|returned)))?$`)},
	{asksError, lazyregexp.New(`(?i)\bwhere is (.+?) (?:returned|raised|thrown)$`)},
	{asksDefault, lazyregexp.New(`(?i)\b(?:what(?:'s| is)|which is) (?:the )?value of (.+)$`)},
	{asksDefault, lazyregexp.New(`(?i)\b(?:which|what) value does (.+?) (?:have|get|take) (?:if|when|unless|by default)\b`)},
	{asksDefault, lazyregexp.New(`(?i)^(default .+)$`)},
	{asksDefault, lazyregexp.New(`(?i)\bhow (?:many|much|long|often) (.+?) (?:are|is) (?:\w+ )?by default$`)},
	{asksValues, lazyregexp.New(`(?i)\b(?:what|which)(?: are| is)?(?: all)?(?: the)?(?: (?:possible|valid|allowed|supported|available|different|legal|return|status|error|exit))* (?:values?|options?|choices|variants|members|constants|modes|kinds|codes)(?: (?:of|for|can|does|do|may|are there|there are|are|has|have|exist|in|the|valid|allowed))+ (.+?)(?:(?: (?:take|have|accept|be|has|allowed|supported|valid|contain))+(?: in (?:the )?\w+)?)?$`)},
	{asksValues, lazyregexp.New(`(?i)\b(?:what|which) (?P<of>\w+)s can (?P<owner>.+?) (?:be in|be|have|take|get)$`)},
	{asksValues, lazyregexp.New(`(?i)\b(?:what|which) (?:\w+ )?\w+s (?:does|do|can|will) (\S+) (?:take|accept|support|know|understand|handle|recogni[sz]e)s?$`)},
	{asksValues, lazyregexp.New(`(?i)^(\S+?),? (?:- )?(?:which|what)(?: ones?| values)? (?:exist|are there|are possible|are allowed|does it have)$`)},
	{asksValues, lazyregexp.New(`(?i)\b(?:what|which) (?:\w+ )?\w+s (?:.+ )?\((\w*_\w+)\)$`)},
	{asksValues, lazyregexp.New(`(?i)\bwhat can (.+?) be(?: set to)?$`)},
	{asksValues, lazyregexp.New(`(?i)\b(?:what|which) (?:.+ )?can (?:i|we|you|one) (?:pass|give|assign|set) (?:to|for) (.+)$`)},
	{asksValues, lazyregexp.New(`(?i)\b(?:what|which) (.+?) (?:are (?:there|built[ -]in|supported|available|allowed|possible)(?: internally)?|(?:come|ship) with .+|exist(?: for .+)?|does .+ (?:know|support|have)|do we (?:support|have|know)|can (?:i|we|you|one) (?:pick|choose|use|select))$`)},
	{asksDefault, lazyregexp.New(`(?i)\b(?:what(?:'s| is)? |which )?(?:is )?(?:the )?default (?:value )?(?:of|for) (.+)$`)},
	{asksDefault, lazyregexp.New(`(?i)\bwhat (?:does|do|is|are) (.+?) (?:default to|set to by default|by default|set to)$`)},
	{asksDefault, lazyregexp.New(`(?i)\b(?:what(?:'s| is)|which is) (?:the )?(default .+)$`)},
	{asksDefault, lazyregexp.New(`(?i)\bhow (?:long|many|big|large|high|often) is (.+?)(?: by default)?$`)},
	{asksConfig, lazyregexp.New(`(?i)\bhow (?:do|can|could|would|should) (?:i|we|you|one) (?:configure|set|change|adjust|override|customi[sz]e|increase|decrease|raise|lower|specify|pass|tune|turn o(?:n|ff)|enable|disable|limit) (.+)$`)},
	{asksConfig, lazyregexp.New(`(?i)\bhow (?:do|can|could|would|should) (?:i|we|you|one) (?:get|make|stop|prevent|keep|switch|force|have) (.+)$`)},
	{asksConfig, lazyregexp.New(`(?i)\bhow to (?:configure|set|change|adjust|override|increase|decrease|raise|lower|tune|turn|switch|enable|disable|limit) (.+)$`)},
	{asksConfig, lazyregexp.New(`(?i)\bwhat (?:can|do|should|must) (?:i|we|you|one) (?:set|configure|change|switch|turn)(?: (?:to|so that|against|for|on|off))* (.+)$`)},
	{asksConfig, lazyregexp.New(`(?i)\bhow (?:is|are) (.+?) (?:configured|set|changed|enabled|disabled)$`)},
	{asksWhat, lazyregexp.New(`(?i)\bwhat (?:does|do) (.+?) do$`)},
	{asksWhat, lazyregexp.New(`(?i)\bwhat(?:'s| is| are) (.+?) (?:(?:good |used |there |meant )?for)$`)},
	{asksWhat, lazyregexp.New(`(?i)\b(?:explain|tell|know|describe)s?(?: me)? what (.+?) (?:does|do|is for)$`)},
	{asksWhere, lazyregexp.New(`(?i)\b(?:where(?:'s| is| do i find| can i find) the (?:code|implementation|definition|source) (?:for|of)|(?:which|what) (?:file|module|package) (?:do i|can i|do we|does one) find) (.+)$`)},
	{asksWhere, lazyregexp.New(`(?i)\b(?:which|what) (?:file|module|package) (?:is )?(?:defines?|declares?|implements?|contains?|has|holds) (.+)$`)},
	{asksWhere, lazyregexp.New(`(?i)\b(?:which|what) (?:file|module|package) is (.+?) (?:in|defined in|declared in|implemented in)$`)},
	{asksWhere, lazyregexp.New(`(?i)\bwhere(?: can (?:i|we) find| do (?:i|we|you) find|'s| is| are| was| does| do) (.+?)(?: (?:(?:get |gets )?(?:defined|declared|implemented|located|written)|live|lives|come from|sit|sits))?$`)},
}

// message is a text of several words in quotes, which may have quotes of another form in it.
const message = `(?:^|[\s(:])(?:["“]([^\s"“”]+ .+?)["”]|'([^\s']+ .+?)')(?:$|[\s.,:;!)])`

// abroad recognize loose forms, and questions in other languages (de, es, fr, id, pt), whose grammar
// is not known here: the name asked about must be as code writes it.
var abroad = []struct {
	asks
	pattern *lazyregexp.Pattern
}{
	{asksDefault, lazyregexp.New(`(?i)\b(?:what(?:'s| is)) (?:the )?(.+?)(?:'s)? value$`)},
	{asksDefault, lazyregexp.New(`(?i)\b(?:what|which) (?:\w+ )?(?:value|status|code|number|size|limit|timeout|port|length) (?:is|has|does) (.+?)(?: have)?$`)},
	{asksDefault, lazyregexp.New(`(?i)\b(?:what|which) (?:\w+ )?(?:value|status|code|number|size|limit|timeout|port|length) (.+?) (?:is|has)$`)},
	{asksWhere, lazyregexp.New(`(?i)(?:^|[\s,:])(?:wo (?:ist|sind|liegt|steht|wird)|d[óo]nde (?:est[áa]|se define)|o[ùu] (?:est|se trouve)|onde (?:est[áa]|fica)|di ?mana(?:kah)?(?: letak)?) ` + foreignName)},
	{asksDefault, lazyregexp.New(`(?i)^` + "`?([\\w.]+)`?" + ` (?:itu )?berapa(?: (?:ya|sih|nilainya|defaultnya))*$`)},
	{asksDefault, lazyregexp.New(`(?i)(?:^|[\s,:])(?:was ist|wie (?:hoch|groß|gross|lang|viele) (?:ist|sind)|welchen wert hat|cu[áa]l es|cu[áa]nto es|quel(?:le)? est|qual [ée]|berapa(?:kah)?|apa(?:kah)?) (?:(?:der|die|das|el|la|le|o|a|valor|valeur|wert|standardwert|nilai|default|bawaan|standar|par|d[ée]faut|por|defecto|padr[ãa]o|von|für|de|do|da|du|untuk|dari) )*` + foreignName)},
}

// gists recognize the kind of a question that is asked in no common form.
var gists = []struct {
	asks
	pattern *lazyregexp.Pattern
}{
	{asksDefault, lazyregexp.New(`(?i)\b(?:how (?:many|much|long|often|big|large|high|deep|wide|small)|max(?:imum)?|min(?:imum)?|default|berapa)\b`)},
	{asksValues, lazyregexp.New(`(?i)\b(?:what|which) (?:\w+ ){0,3}(?:types|kinds|states|values|modes|options|levels|codes|causes|formats|variants|strategies|policies)\b`)},
	{asksWhere, lazyregexp.New(`(?i)\b(?:which|what) (?:file|bit|part|piece|code|place|function|method|class|module|struct|script|helper)(?: of (?:the )?\w+)?(?: in \S+)? (?:\w*[^g\s]s|do|can|will|would|did)\b|(?:^|[,.;:?!] *|\band |\bso )where\b`)},
}

var wh = lazyregexp.New(`(?i)\b(?:which|what|where|how|when|why|who)\b`)

// gist returns the kind of a question by its words; "" if they say none, or it asks several things.
func gist(question string) asks {
	if len(wh.FindAllString(question, 2)) > 1 || len(strings.Fields(question)) > maxAsked {
		return ""
	}
	for _, g := range gists {
		if g.pattern.MatchString(question) {
			return g.asks
		}
	}
	return ""
}

// foreignName is a name, before words of which none is a name.
const foreignName = "`?([\\w.]+(?:\\(\\))?)`?(?: \\p{L}+){0,2}$"

var (
	askedIn  = lazyregexp.New(`(?i)\s+(?:in (?:the|this|our) (?:code|codebase|repo|repository|source|project|library)|in (?:go|python|rust|java|typescript|javascript)|at all|exactly|actually|here|please|anyway|again|then|now)$`)
	articles = lazyregexp.New(`(?i)^(?:(?:the|an?|our|your|my|func|function|method|class|type|struct|enum|interface|trait|constant|const|variable|field|option|options|parameter|param|argument|flag|setting|error|exception|message|value of|value for|property|attribute|number of|amount of)\s+)+`)
	nouns    = lazyregexp.New(`(?i)\s+(?:function|method|class|type|struct|enum|interface|trait|constant|variable|field|option|parameter|param|argument|flag|setting|error|exception|property|attribute|value)s?$`)
	spelling = lazyregexp.New(`^[\w$.:#-]+$`)
)

// understand returns the kind of a question and the name or phrase that it asks about; ok is false if it is
// of no common kind.
func understand(question string) (kind asks, about string, ok bool) {
	if len(strings.Fields(question)) > maxAsked {
		return "", "", false
	}
	sentences := strings.FieldsFunc(question, func(r rune) bool { return r == '\n' })
	i := slices.IndexFunc(sentences, func(s string) bool { return strings.Contains(s, "?") })
	if i < 0 {
		i = len(sentences) - 1
	}
	if i < 0 {
		return "", "", false
	}
	text, _, _ := strings.Cut(sentences[i], "?")
	text = strings.TrimRight(strings.Join(strings.Fields(text), " "), " .!,")
	for askedIn.MatchString(text) {
		text = askedIn.ReplaceAllString(text, "")
	}
	for _, k := range kinds {
		if m := k.pattern.FindStringSubmatch(text); m != nil {
			if about = strings.TrimSpace(strings.Join(m[1:], "")); len(m) > 2 && k.pattern.SubexpIndex("of") > 0 {
				about = articles.ReplaceAllString(m[2], "") + " " + m[1] // the states of a task: TaskState
			}
			return k.asks, about, about != ""
		}
	}
	for _, k := range abroad {
		if m := k.pattern.FindStringSubmatch(text); m != nil && written(m[1]) {
			return k.asks, m[1], true
		}
	}
	return "", "", false
}

// subjects returns the names that a phrase may mean, the most exact first: what stands in backticks, the
// phrase without articles and nouns of programming, a name of several words written as one. owner is what
// stands before the last dot.
func subjects(about string) (names []string, owner string) {
	if _, rest, ok := strings.Cut(about, "`"); ok {
		if name, _, ok := strings.Cut(rest, "`"); ok {
			about = name
		}
	}
	about = articles.ReplaceAllString(strings.Trim(about, `"'“”`), "")
	whole := strings.TrimSpace(about)
	about = strings.TrimSuffix(strings.TrimSpace(nouns.ReplaceAllString(about, "")), "()")
	about = strings.Trim(about, "`\"'“”.,;*& ")
	if before, _, ok := strings.Cut(about, "("); ok {
		about = before
	}
	about = strings.ReplaceAll(strings.ReplaceAll(about, "::", "."), "#", ".")
	if about == "" || len(strings.Fields(about)) > maxMessage {
		return nil, ""
	}
	if spelling.MatchString(about) && strings.Contains(strings.Trim(about, "."), ".") {
		parts := strings.Split(strings.Trim(about, "."), ".")
		return []string{parts[len(parts)-1]}, parts[len(parts)-2]
	}
	names = []string{strings.TrimLeft(about, "-")}
	if rest, ok := strings.CutPrefix(strings.ToLower(about), "default "); ok {
		names = append(names, about[len(about)-len(rest):])
	}
	if m := ofOwner.FindStringSubmatch(names[len(names)-1]); m != nil {
		names, whole = append(names, nouns.ReplaceAllString(m[1], "")), m[1]
		owner = strings.ReplaceAll(articles.ReplaceAllString(m[2], ""), " ", "")
	}
	if !slices.Contains(names, whole) && spelled.MatchString(whole) {
		names = append(names, whole)
	}
	return names, owner
}

// spelled matches a name of several words.
var spelled = lazyregexp.New(`^\w+(?: \w+){1,3}$`)

// ofOwner splits a phrase into a name and what has it.
var ofOwner = lazyregexp.New(`(?i)^(.+?) (?:other than|of|for|in|on|per|from) (.+)$`)

// written reports whether a phrase is a name as code writes it, not a word of everyday such as POST: with a
// capital inside, an underscore, a dot, or in backticks.
func written(about string) bool {
	if strings.Contains(about, "`") || strings.Contains(about, "()") {
		return true
	}
	for w := range strings.FieldsSeq(about) {
		if strings.Contains(w, "_") || strings.ContainsAny(w[1:], "ABCDEFGHIJKLMNOPQRSTUVWXYZ") &&
			strings.ToUpper(w) != w || strings.Contains(strings.Trim(w, "."), ".") {
			return true
		}
	}
	return false
}
