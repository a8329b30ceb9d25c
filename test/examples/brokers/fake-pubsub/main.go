// Google's own fake of Pub/Sub, which stores in memory: fake-pubsub PORT
package main

import (
	"os"
	"strconv"

	"cloud.google.com/go/pubsub/v2/pstest"
)

func main() {
	port, err := strconv.Atoi(os.Args[1])
	if err != nil {
		panic(err)
	}
	pstest.NewServerWithPort(port)
	select {}
}
