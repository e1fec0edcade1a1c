// Tri-backup copies a home into one file while its pipeline runs, and restores a home from it.
package main

import (
	"fmt"
	"io"
	"time"

	"tri/lib/base/cli"
	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
	"tri/lib/base/term"
	"tri/lib/flow/dispatch"
	"tri/lib/report/backup"
	"tri/lib/report/fsck"
)

func main() { cli.Main(program) }

var program = cli.Program{
	Name:  "tri-backup",
	Usage: "save a home to one file and restore it",
	Help: `Save writes a gzipped tar of the logs and of the files derived from them, without
locks, indexes and the logs of the stages. The copy contains chat messages, and
secrets if they are stored in the home.

A draft that is approved in the copy may have been posted since. Restore
therefore withdraws the approval, and the pipeline investigates the question
again. If a post had started, tri-reply first searches the chat for it.

  tri backup >tri.tar.gz
  tri restore /srv/tri <tri.tar.gz`,
	Commands: []cli.Program{
		{Name: "save", Usage: "write the home to standard output", Run: save,
			Flags: []cli.Flag{cli.Home("save the home")}},
		{Name: "restore", Args: "dir", Usage: "restore the copy on standard input to dir", Run: restore,
			Flags: []cli.Flag{cli.String("from-copy",
				"restore from the copies of logs that tri-nats sub keeps in `DIR`")}},
	},
}

func save(c *cli.Call) error {
	if term.Is(c.Out) {
		return cli.Usagef("a copy is not for a terminal: tri backup >tri.tar.gz")
	}
	home, err := durable.OpenHome(c.String("home"))
	if err != nil {
		return err
	}
	defer home.Close()
	return backup.Save(home, c.Out)
}

// take makes the home of a copy.
func take(c *cli.Call) (backup.Restored, error) {
	if from := c.String("from-copy"); from != "" {
		return backup.FromCopy(from, c.Args[0], time.Now())
	}
	if term.Is(c.In) {
		return backup.Restored{}, sysexit.With(sysexit.NoInput,
			fmt.Errorf("no copy on standard input: tri restore DIR <tri.tar.gz"))
	}
	return backup.Restore(io.Reader(c.In), c.Args[0], time.Now())
}

func restore(c *cli.Call) error {
	done, err := take(c)
	if err != nil {
		return err
	}
	c.Notef("%d files; %d approvals taken back, %d posts to be looked for", done.Files,
		done.Revoked, done.Looked)
	home, err := durable.Open(c.Args[0])
	if err != nil {
		return err
	}
	defer home.Close()
	if _, err := dispatch.Rebuild(home); err != nil {
		return err
	}
	report, err := fsck.Home(home)
	if err == nil && !report.OK {
		err = report.Print(c.Err)
	}
	return err
}
