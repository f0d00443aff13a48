package podman

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/containers/podman/v5/pkg/bindings"
	"github.com/containers/podman/v5/pkg/errorhandling"
	"github.com/containers/podman/v5/version"
)

// attach opens the wire to the container's three streams. The bindings have an
// Attach of their own; it cannot be stopped, leaves a goroutine behind, and
// exchanges the transport that other calls use at the time. The connection and
// the form of the stream are theirs.
func (b *box) attach(ctx context.Context, s *service) error {
	client, err := bindings.GetClient(s.conn)
	if err != nil {
		return err
	}
	wire, base, err := dialWire(ctx, client)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { wire.SetDeadline(time.Unix(1, 0)) })
	reader, err := upgrade(wire, base, b.Name())
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		wire.Close()
		return err
	}
	b.wire, b.reader = wire, reader
	b.stdin = &input{Conn: wire}
	return nil
}

// dialWire opens a connection of its own, and tells the URL that requests on
// it begin with.
func dialWire(ctx context.Context, client *bindings.Connection) (net.Conn, string, error) {
	transport, ok := client.Client.Transport.(*http.Transport)
	if !ok || transport.DialContext == nil {
		return nil, "", fmt.Errorf("no way to dial %s", client.URI.Redacted())
	}
	wire, err := transport.DialContext(ctx, client.URI.Scheme, client.URI.String())
	if err != nil {
		return nil, "", err
	}
	if client.URI.Scheme != "tcp" {
		return wire, "http://d", nil
	}
	base := "http://" + client.URI.Host + client.URI.Path
	if c := transport.TLSClientConfig; c != nil {
		c = c.Clone()
		c.ServerName = cmp.Or(c.ServerName, client.URI.Hostname())
		wire = tls.Client(wire, c)
		base = "https://" + client.URI.Host + client.URI.Path
	}
	return wire, base, nil
}

// upgrade makes a connection the container's streams.
func upgrade(wire net.Conn, base, name string) (*bufio.Reader, error) {
	v := version.APIVersion[version.Libpod][version.CurrentAPI]
	// No keys detach: every byte is the guest's.
	url := fmt.Sprintf("%s/v%d.%d.%d/libpod/containers/%s/attach?stdin=true&stdout=true&stderr=true&stream=true&detachKeys=",
		base, v.Major, v.Minor, v.Patch, name)
	request, err := http.NewRequest(http.MethodPost, url, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Connection", "Upgrade")
	request.Header.Set("Upgrade", "tcp")
	if err := request.Write(wire); err != nil {
		return nil, err
	}
	reader := bufio.NewReaderSize(wire, 64<<10)
	response, err := http.ReadResponse(reader, request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode == http.StatusSwitchingProtocols {
		return reader, nil
	}
	defer response.Body.Close()
	answer := &errorhandling.ErrorModel{ResponseCode: response.StatusCode}
	text, err := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	if err != nil {
		return nil, err
	}
	if json.Unmarshal(text, answer) != nil || answer.Message == "" {
		answer.Message = string(text)
	}
	return nil, answer
}

// demux parts what comes on the wire into the two outputs, until it ends.
func (b *box) demux() {
	defer b.Out.End(nil)
	defer b.Err.End(nil)
	spoken := sync.OnceFunc(func() { close(b.spoken) })
	defer spoken()
	header := make([]byte, 8)
	buffer := make([]byte, 32<<10)
	for {
		if _, err := io.ReadFull(b.reader, header); err != nil {
			return
		}
		fd, size := header[0], int(binary.BigEndian.Uint32(header[4:]))
		to := b.Out
		switch fd {
		case 2:
			to = b.Err
		case 3:
			text, _ := io.ReadAll(io.LimitReader(b.reader, int64(min(size, 4<<10))))
			b.engine.log.Warn("podman ends the stream of a sandbox", "container", b.Name(), "cause", string(text))
			return
		}
		for size > 0 {
			n, err := b.reader.Read(buffer[:min(size, len(buffer))])
			to.Write(buffer[:n])
			spoken()
			size -= n
			if err != nil && !(errors.Is(err, io.EOF) && size == 0) {
				return
			}
		}
	}
}

// input is the way to the guest's stdin. Closing it is the guest's end of
// file; its outputs go on.
type input struct {
	net.Conn
	once sync.Once
	err  error
}

func (i *input) Close() error {
	i.once.Do(func() {
		half, ok := i.Conn.(interface{ CloseWrite() error })
		if !ok {
			i.err = i.Conn.Close()
			return
		}
		i.err = half.CloseWrite()
	})
	return i.err
}
