package demo

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"tri/lib/base/text"
)

// Colours, of the eight of every terminal.
const (
	bold  = "1"
	faint = "2"
	red   = "31"
	green = "32"
	cyan  = "36"
)

// paint colours s on a terminal, unless NO_COLOR is set (no-color.org).
func (d *demo) paint(colour, s string) string {
	if !d.Terminal || os.Getenv("NO_COLOR") != "" {
		return s
	}
	return "\x1b[" + colour + "m" + s + "\x1b[0m"
}

// title prints the heading of a part.
func (d *demo) title(format string, args ...any) {
	fmt.Fprintf(d.Out, "\n%s\n", d.paint(bold, fmt.Sprintf(format, args...)))
}

// width is how many columns the demo uses.
const width = 80

// say prints a sentence of the demo, in lines that fit. A break keeps the sentence's indentation.
func (d *demo) say(format string, args ...any) {
	body := fmt.Sprintf(format, args...)
	indent := body[:len(body)-len(strings.TrimLeft(body, " "))]
	line := ""
	for _, word := range strings.Split(body[len(indent):], " ") {
		if line != "" && ansi.StringWidth(indent+line+" "+word) > width {
			fmt.Fprintln(d.Out, indent+line)
			line = word
			continue
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	fmt.Fprintln(d.Out, indent+line)
}

// command shows a shell command. A long one is broken after its last bar, or after a backslash, so that it
// can be copied.
func (d *demo) command(line string) {
	shown := "$"
	show := func(l string) { fmt.Fprintf(d.Out, "  %s\n", d.paint(cyan, l)) }
	for _, word := range words(line) {
		for ansi.StringWidth(shown+" "+word) > width-4 && len(strings.Fields(shown)) > 1 {
			head, rest := shown+" \\", ""
			if i := strings.LastIndex(shown, " | "); i > 0 {
				head, rest = shown[:i+2], shown[i+2:]
			}
			show(head)
			shown = "     " + rest
		}
		shown += " " + word
	}
	show(shown)
}

// words returns the words of a shell command, of which some are quoted.
func words(line string) (all []string) {
	quoted := false
	for _, part := range strings.Split(line, " ") {
		if quoted {
			all[len(all)-1] += " " + part
		} else {
			all = append(all, part)
		}
		quoted = quoted != (strings.Count(part, "'")%2 == 1)
	}
	return all
}

// block shows outside text: escaped, indented, each line cut at the width.
func (d *demo) block(colour, body string) { d.lines(colour, "    ", body) }

// page shows what a program prints, which fits as it is.
func (d *demo) page(colour, body string) { d.lines(colour, "", body) }

func (d *demo) lines(colour, indent, body string) {
	for _, line := range strings.Split(strings.TrimRight(text.Visible(body), "\n"), "\n") {
		line = strings.ReplaceAll(line, "\t", "    ")
		fmt.Fprintf(d.Out, "%s\n", d.paint(colour, ansi.Truncate(indent+line, width, "…")))
	}
}

// typed returns a command that a person can type to continue in the demo's home.
func (d *demo) typed(program string, args ...string) string {
	if on, err := exec.LookPath(program); err != nil || d.Bin != "" && filepath.Dir(on) != d.Bin {
		program = filepath.Join(d.Bin, program)
		if here, err := os.Getwd(); err == nil {
			if rel, err := filepath.Rel(here, program); err == nil && filepath.IsLocal(rel) {
				program = rel
			}
		}
	}
	return "TRI_HOME=" + text.Quote(d.path("home")) + " TRI_USER=" + operator + " " +
		quoted(append([]string{program}, args...))
}
