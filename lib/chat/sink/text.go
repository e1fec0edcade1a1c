package sink

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"tri/lib/base/sysexit"
	"tri/lib/chat"
)

// Pictures replaces the control characters of text, except newline and tab, by their visible
// symbols: their handling is not documented by any platform.
func Pictures(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r < ' ':
			return 0x2400 + r
		case r == 0x7f:
			return 0x2421
		case r >= 0x80 && r < 0xa0:
			return utf8.RuneError
		}
		return r
	}, text)
}

// First returns the first n characters of text.
func First(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}

// CardText returns a card as plain text.
func CardText(card chat.Card) string { return strings.TrimSpace(card.Title + "\n\n" + card.Text) }

var (
	buttonName  = regexp.MustCompile(`^[a-z]{1,12}$`)
	buttonValue = regexp.MustCompile(`^[a-zA-Z0-9._:-]{0,48}$`)
)

// IsButton reports whether a click's name and value have the form of a card posted by this package.
func IsButton(name, value string) bool {
	return buttonName.MatchString(name) && buttonValue.MatchString(value)
}

// CheckButtons returns an error for a button whose name or value some platform cannot return with a
// click.
func CheckButtons(buttons []chat.Button) error {
	for _, b := range buttons {
		if !IsButton(b.Name, b.Value) {
			return sysexit.Errorf(sysexit.Software, "button %q carries %q", b.Name, b.Value)
		}
	}
	return nil
}
