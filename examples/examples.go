// Package examples holds the demo's chats, embedded in the programs. All of it is
// written for the purpose.
package examples

import "embed"

// Files are the folders week and demo. week is a Slack export: users.json,
// channels.json, and a file for each room and day. demo/dev.ndjson has one
// message a line: who, and what.
//
//go:embed week demo
var Files embed.FS
