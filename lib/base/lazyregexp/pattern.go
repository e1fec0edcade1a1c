// Package lazyregexp compiles regular expressions on first use. A program declares hundreds of
// them that most runs never need, and compiling them at start would take longer than the rest of
// the start.
package lazyregexp

import (
	"regexp"
	"sync"
	"sync/atomic"
)

// Pattern is a regular expression. It is safe for concurrent use; its methods are those of
// regexp.Regexp.
type Pattern struct {
	text string
	re   atomic.Pointer[regexp.Regexp]
}

// all are the patterns created so far, for the test that compiles them.
var (
	allMu sync.Mutex
	all   []*Pattern
)

// New returns a pattern for a package variable. An invalid text panics on first use.
func New(text string) *Pattern {
	p := &Pattern{text: text}
	allMu.Lock()
	defer allMu.Unlock()
	all = append(all, p)
	return p
}

// Compile compiles every pattern of the program, for tests, and returns their number.
func Compile() int {
	allMu.Lock()
	defer allMu.Unlock()
	for _, p := range all {
		p.get()
	}
	return len(all)
}

func (p *Pattern) get() *regexp.Regexp {
	re := p.re.Load()
	if re == nil {
		re = regexp.MustCompile(p.text)
		p.re.Store(re) // if two goroutines compiled it, either result will do
	}
	return re
}

// MatchString and the following methods are those of regexp.Regexp.
func (p *Pattern) MatchString(s string) bool              { return p.get().MatchString(s) }
func (p *Pattern) Match(b []byte) bool                    { return p.get().Match(b) }
func (p *Pattern) FindString(s string) string             { return p.get().FindString(s) }
func (p *Pattern) FindStringIndex(s string) []int         { return p.get().FindStringIndex(s) }
func (p *Pattern) FindStringSubmatch(s string) []string   { return p.get().FindStringSubmatch(s) }
func (p *Pattern) FindStringSubmatchIndex(s string) []int { return p.get().FindStringSubmatchIndex(s) }
func (p *Pattern) FindAllString(s string, n int) []string { return p.get().FindAllString(s, n) }
func (p *Pattern) FindAllStringIndex(s string, n int) [][]int {
	return p.get().FindAllStringIndex(s, n)
}
func (p *Pattern) FindAllStringSubmatch(s string, n int) [][]string {
	return p.get().FindAllStringSubmatch(s, n)
}
func (p *Pattern) FindAllStringSubmatchIndex(s string, n int) [][]int {
	return p.get().FindAllStringSubmatchIndex(s, n)
}
func (p *Pattern) SubexpIndex(name string) int          { return p.get().SubexpIndex(name) }
func (p *Pattern) ReplaceAllString(s, to string) string { return p.get().ReplaceAllString(s, to) }
func (p *Pattern) ReplaceAllStringFunc(s string, to func(string) string) string {
	return p.get().ReplaceAllStringFunc(s, to)
}
