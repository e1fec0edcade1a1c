package teams

import (
	"html"
	"strings"

	"tri/lib/base/lazyregexp"
)

var (
	tag       = lazyregexp.New(`(?s)<!--.*?-->|</?[a-zA-Z][^<>]*>`)
	attribute = lazyregexp.New(`(?s)([a-zA-Z-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')`)
	breaks    = lazyregexp.New(`[ \t]*[\r\n]\s*`)
)

// writer converts a message's HTML to plain text.
type writer struct {
	strings.Builder
	fresh bool     // at the start of an empty line
	pre   int      // nesting depth of pre elements
	open  int      // line breaks due before the next text
	link  []string // the targets of open links, and where their text begins
	begun []int
	mute  string // the element whose content is skipped
}

// plain returns the text of a message's HTML: mentions as @name, links with their address, blocks
// as lines. It is as close to what Teams shows as text can be.
func plain(source string) string {
	w := &writer{fresh: true}
	for source != "" {
		at := tag.FindStringIndex(source)
		if at == nil {
			w.text(source)
			break
		}
		w.text(source[:at[0]])
		w.tag(source[at[0]:at[1]])
		source = source[at[1]:]
	}
	return w.String()
}

// text adds the text between two tags.
func (w *writer) text(s string) {
	if s == "" || w.mute != "" {
		return
	}
	if s == "&nbsp;" && w.fresh {
		w.fresh = false // an empty line
		return
	}
	if w.pre == 0 {
		if strings.TrimSpace(s) == "" && strings.ContainsAny(s, "\r\n") {
			return // white space between two blocks
		}
		s = breaks.ReplaceAllString(s, " ")
	}
	w.put(strings.ReplaceAll(html.UnescapeString(s), "\u00a0", " "))
}

func (w *writer) put(s string) {
	if s == "" {
		return
	}
	if w.open > 0 && w.Len() > 0 {
		w.WriteString(strings.Repeat("\n", w.open))
	}
	w.open, w.fresh = 0, false
	w.WriteString(s)
}

// line ends the current line unless it is empty.
func (w *writer) line() {
	if !w.fresh {
		w.open, w.fresh = w.open+1, true
	}
}

func (w *writer) tag(t string) {
	closing := strings.HasPrefix(t, "</")
	name := strings.ToLower(strings.Trim(strings.FieldsFunc(strings.Trim(t, "</>"), func(r rune) bool {
		return r == ' ' || r == '\t' || r == '\n' || r == '\r' || r == '/'
	})[0], "!-"))
	if w.mute != "" {
		if closing && name == w.mute {
			w.mute = ""
		}
		return
	}
	switch name {
	case "br":
		w.open, w.fresh = w.open+1, true
	case "p", "div", "ul", "ol", "blockquote", "table", "tr", "h1", "h2", "h3", "h4", "h5", "h6",
		"hr", "codeblock":
		w.line()
	case "pre":
		w.line()
		if !closing {
			w.pre++
		} else if w.pre > 0 {
			w.pre--
		}
	case "li":
		if w.line(); !closing {
			w.put("- ")
			w.fresh = true
		}
	case "td", "th":
		if closing {
			w.put("\t")
		}
	case "at":
		if !closing {
			w.put("@")
		}
	case "a":
		w.anchor(t, closing)
	case "img", "emoji":
		if !closing {
			w.put(html.UnescapeString(attributes(t)["alt"]))
		}
	case "script", "style", "systemeventmessage":
		if !closing && !strings.HasSuffix(t, "/>") {
			w.mute = name
		}
	}
}

// anchor adds a link's address after its text if they differ.
func (w *writer) anchor(t string, closing bool) {
	if !closing {
		w.link, w.begun = append(w.link, html.UnescapeString(attributes(t)["href"])), append(w.begun, w.Len())
		return
	}
	n := len(w.link) - 1
	if n < 0 {
		return
	}
	link, shown := w.link[n], strings.TrimSpace(w.String()[w.begun[n]:])
	w.link, w.begun = w.link[:n], w.begun[:n]
	if link != "" && link != shown && strings.TrimSuffix(link, "/") != shown && link != "mailto:"+shown {
		w.put(" (" + link + ")")
	}
}

func attributes(t string) map[string]string {
	all := map[string]string{}
	for _, m := range attribute.FindAllStringSubmatch(t, -1) {
		all[strings.ToLower(m[1])] = m[2] + m[3]
	}
	return all
}

var at = lazyregexp.New(`(?s)<at(?:\s[^<>]*)?>(.*?)</at>`)

// called shows the mentions in a text that is otherwise plain.
func called(text string) string { return at.ReplaceAllString(text, "@$1") }
