// A Kafka cluster of one broker in one process: fake-kafka PORT FOLDER
package main

import (
	"log"
	"os"
	"strconv"

	"github.com/twmb/franz-go/pkg/kfake"
)

func main() {
	port, err := strconv.Atoi(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	// It is killed: what it acknowledged must be on disk.
	if _, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.Ports(port), kfake.DataDir(os.Args[2]), kfake.SyncWrites()); err != nil {
		log.Fatal(err)
	}
	select {}
}
