// Dist makes a release of the checkout that it runs in: for Linux and macOS on
// amd64 and arm64 an archive of static programs, their pages, completions, schemas
// and examples; of the Linux ones a .deb and an .rpm too; the list of every module
// in every program; and the sums of all of it.
//
//	dist -version VERSION [-out DIR] [TARGET ...]
//
// Equal sources give equal bytes, wherever and whenever it runs: names are sorted,
// times are the commit's (or SOURCE_DATE_EPOCH, as reproducible-builds.org has it),
// owners are root. scripts/dist/check tries that, and installs the packages.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
)

func main() {
	version := flag.String("version", "", "the release is called `VERSION`")
	out := flag.String("out", "dist", "leave the files in `DIR`")
	flag.Parse() // exits by itself when an option is wrong
	chosen, err := choose(flag.Args())
	if err != nil || *version == "" {
		fmt.Fprintf(os.Stderr, "dist: %v\n", cmp.Or(err, errors.New("-version is needed")))
		os.Exit(64)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := dist(ctx, *version, *out, chosen); err != nil {
		fmt.Fprintf(os.Stderr, "dist: %v\n", err)
		os.Exit(1)
	}
}
