module slackgo

go 1.26

require (
	github.com/slack-go/slack v0.34.0
	tri v0.0.0
)

require (
	github.com/coder/websocket v1.8.15 // indirect
	github.com/gorilla/websocket v1.5.3 // indirect
	github.com/rivo/uniseg v0.4.7 // indirect
	github.com/tidwall/gjson v1.20.0 // indirect
	github.com/tidwall/match v1.1.1 // indirect
	github.com/tidwall/pretty v1.2.0 // indirect
)

replace tri => ../../..
