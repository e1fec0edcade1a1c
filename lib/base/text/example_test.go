package text_test

import (
	"fmt"

	"tri/lib/base/text"
)

// Visible writes out whatever could steer a terminal or hide in a line.
func ExampleVisible() {
	fmt.Println(text.Visible("ok\x1b[2J \u202egnp.exe"))
	// Output:
	// ok<U+001B>[2J <U+202E>gnp.exe
}

func ExampleLine() {
	fmt.Println(text.Line("where\n  is the\tretry limit?", 16))
	// Output:
	// where is the re…
}

func ExampleSections() {
	lists := text.Sections("# of a shop\n[fruit]\napple pear\n\n[none]\n[tool]\nsaw\nhammer\n")
	fmt.Printf("%q %q %q\n", lists["fruit"], lists["tool"], lists["none"])
	// Output:
	// ["apple pear"] ["saw" "hammer"] []
}
