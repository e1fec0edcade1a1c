// Tri-task shows all work as tasks, and passes an operator's words on open work to the dispatcher.
package main

import (
	"errors"
	"strings"
	"time"

	"tri/lib/base/cli"
	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/ndjson"
	"tri/lib/base/text"
	"tri/lib/flow/approve"
	"tri/lib/record/decision"
	"tri/lib/record/todo"
	"tri/lib/report/task"
)

func main() { cli.Main(program) }

var program = cli.Program{
	Name:  "tri-task",
	Usage: "show all work as tasks, and direct or cancel them",
	Args:  "command [id] [text]",
	Help: `A task is the work on one request. An ID is printed by list; the beginning of a
thread's key or a message's id also works. Only team.approvers may change a task.

  tri-task list
  tri-task redirect 3f9a2c41 'only the auth service'`,
	Schemas: []string{"task", "decision", "todo"},
	Commands: []cli.Program{
		command("list", "", "list open tasks, oldest first", list, cli.Bool("all", "also list closed tasks")),
		command("show", "id", "show a task: question, steps, result, cost", show),
		command("tail", "id", "follow the steps of a task until it waits or ends", tail,
			cli.Bool("once", "print the existing steps and exit")),
		command("tell", "id text", "add to the request", say(decision.Tell, "told")),
		command("redirect", "id text", "replace the request", say(decision.Redirect, "redirected")),
		command("branch", "id text", "start another task for the same message",
			say(decision.Branch, "branched")),
		command("cancel", "id [reason]", "stop the work and close the task; nothing is posted",
			say(decision.Cancel, "cancelled")),
		command("reject", "id [reason]", "dismiss the task, with or without a draft; nothing is posted",
			say(decision.Dismiss, "rejected")),
		command("todo", "[verb] [text]", "show people's to-do lists, or change one: add, done, undo", todos),
	},
}

type desk struct {
	*task.View
	gate approve.Gate
}

func list(c *cli.Call, d *desk) error {
	tasks, err := d.All(c.Bool("all"))
	if len(tasks) == 0 && err == nil {
		c.Notef("nothing is open")
	}
	if !c.Bool("json") {
		return errors.Join(task.PrintList(c.Out, tasks, d.Now()), err)
	}
	return errors.Join(err, ndjson.Write(c.Out, tasks...))
}

func todos(c *cli.Call, d *desk) error {
	return todo.Do(todo.Command{Home: d.Home, By: d.gate.By, Policy: d.Policy, Decide: d.gate.Todo,
		JSON: c.Bool("json"), Now: d.Now, Out: c.Out}, c.Args)
}

func show(c *cli.Call, d *desk) error {
	t, err := d.Show(c.Args[0])
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return ndjson.Write(c.Out, t)
	}
	return t.Print(c.Out, d.Now())
}

func tail(c *cli.Call, d *desk) error {
	return d.Tail(c.Context, c.Args[0], c.Bool("once"), task.PrintSteps(c.Out, c.Bool("json")))
}

// say returns a command that appends a decision with the words that follow the id.
func say(kind, done string) func(*cli.Call, *desk) error {
	return func(c *cli.Call, d *desk) error {
		note := strings.TrimSpace(strings.Join(c.Args[1:], " "))
		if note == "" && kind != decision.Cancel && kind != decision.Dismiss {
			return cli.Usagef("%s needs a text", kind)
		}
		t, err := d.Find(c.Args[0])
		if err != nil {
			return err
		}
		said, err := d.gate.Direct(t.Thread(), kind, note)
		if err != nil {
			return err
		}
		c.Notef("%s: %s; tri-dispatch acts on it", text.Visible(t.TaskID), done)
		if c.Bool("json") {
			return ndjson.Write(c.Out, said.Record)
		}
		return nil
	}
}

func command(name, args, usage string, do func(*cli.Call, *desk) error, flags ...cli.Flag) cli.Program {
	flags = append(flags,
		cli.Home("use the home"), cli.Config(), cli.As("decide as"), cli.Bool("json", "write records"))
	p := cli.Program{Name: name, Args: args, Usage: usage, Flags: flags, LongRunning: name == "tail",
		Run: func(c *cli.Call) error {
			home, cfg, err := config.Home(durable.OpenHome, c.String("home"), c.String("config"))
			if err != nil {
				return err
			}
			defer home.Close()
			policy := decision.PolicyIn(home.Dir(), c.String("config"))
			return do(c, &desk{
				View: &task.View{Home: home, Policy: decision.PolicyOf(cfg), Now: time.Now},
				gate: approve.Gate{Home: home, Config: cfg, Policy: policy, By: c.String("as"),
					Via: "terminal", Now: time.Now},
			})
		}}
	if name != "list" {
		p.Complete = complete
	}
	return p
}

func complete(c *cli.Call) error {
	home, err := durable.OpenHome("")
	if err != nil {
		return err
	}
	defer home.Close()
	return (&task.View{Home: home, Now: time.Now}).PrintIDs(c.Out)
}
