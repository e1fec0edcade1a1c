module larkgo

go 1.26

require (
	github.com/larksuite/oapi-sdk-go/v3 v3.12.0
	tri v0.0.0
)

require (
	github.com/coder/websocket v1.8.15 // indirect
	github.com/gogo/protobuf v1.3.2 // indirect
	github.com/gorilla/websocket v1.5.0 // indirect
	github.com/tidwall/gjson v1.20.0 // indirect
	github.com/tidwall/match v1.1.1 // indirect
	github.com/tidwall/pretty v1.2.0 // indirect
)

replace tri => ../../..
