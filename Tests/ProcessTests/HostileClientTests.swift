import Glibc
import TandemIO
import TandemModel
import TandemQuery
import TandemWire
import Testing

/// Clients that violate the protocol, next to well-behaved ones that keep saving and following.
@Suite(.ownThread) struct HostileClientTests {
    @Test func `law 7: half a frame, cut at any byte, delays no other client and is freed`() throws
    {
        let world = try HostileWorld()
        try world.saveAndFollow()
        let before = try world.descriptors()
        var frame: [UInt8] = []
        let request = try world.save(number: 9_999, id: "half", text: "half")
        try FrameEncoder.encode(ClientMessage.save(request), id: 1, into: &frame)
        var strangers: [Socket] = []
        for count in 1..<frame.count {
            let stranger = try world.guest()
            try stranger.writeAll(Array(frame.prefix(count)))
            strangers.append(stranger)
            if count % 20 == 0 { try world.saveAndFollow() }
        }
        // A connection that has sent half a hello has no session yet.
        let hello = try HostileWorld.hello()
        for count in 1..<hello.count {
            let stranger = try world.stranger()
            try stranger.writeAll(Array(hello.prefix(count)))
            strangers.append(stranger)
        }
        try world.saveAndFollow()
        strangers = []
        #expect(try world.descriptorsComeDown(to: before))
        try world.finish()
    }

    @Test
    func `laws 7 and 8: a user may have a thousand connections, and more are refused`()
        throws
    {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        // The limit holds for the whole process, whose other tests have daemons and connections of
        // their own at the same time.
        limit.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, 16_384))
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        let world = try HostileWorld()
        let before = (descriptors: try world.descriptors(), memory: try world.memory())
        let hello = try HostileWorld.hello()
        var crowd: [Socket] = []
        for number in 0..<1_100 {
            let stranger = try world.stranger()
            // A refused client may find the connection already closed.
            try? stranger.writeAll(hello)
            crowd.append(stranger)
            if number % 100 == 0 { try world.saveAndFollow() }
        }
        try world.saveAndFollow()
        // The two well-behaved clients count as the user's connections too.
        #expect(try world.descriptors() <= before.descriptors + 1_022)
        #expect((try world.status()["refused"]?.int ?? 0) >= 78)
        #expect(try world.memory() < before.memory + 128 << 20)
        let refusals = try crowd.suffix(50).map { try $0.failureBeforeEnd()?.code }
        #expect(refusals.allSatisfy { $0 == .limitExceeded }, "\(refusals)")
        crowd = []
        #expect(try world.descriptorsComeDown(to: before.descriptors))
        try world.finish()
    }

    @Test
    func `laws 7 and 8: a client that requests everything and reads nothing costs bounded memory`()
        throws
    {
        let world = try HostileWorld()
        let text = String(repeating: "t", count: 30_000)
        for _ in 0..<200 { try world.saveAndFollow(text: text) }
        let before = try world.memory()
        let descriptors = try world.descriptors()
        var greedy: [Socket] = []
        for _ in 0..<8 {
            var bytes: [UInt8] = []
            for id in 1...UInt32(WireLimits.requestsInFlight) {
                let message: ClientMessage =
                    id % 2 == 0
                    ? .fetch(Fetch(request: FetchDescriptor(entity: "Note"), kind: .rows))
                    : .history(HistoryRequest(from: 0, interests: []))
                try FrameEncoder.encode(message, id: id, into: &bytes)
            }
            let stranger = try world.guest()
            try stranger.writeAll(bytes)
            greedy.append(stranger)
            try world.saveAndFollow()
        }
        for _ in 0..<20 { try world.saveAndFollow() }
        // Every answer has 6 MB; each of the eight clients costs one answer at a time, not 64.
        let after = try world.memory()
        #expect(after < before + 192 << 20, "\(before) bytes before, \(after) after")
        greedy = []
        #expect(try world.descriptorsComeDown(to: descriptors))
        try world.finish()
    }

    @Test
    func `laws 7 and 8: fifty clients that read no answer stay within the memory limit of reads`()
        throws
    {
        let world = try HostileWorld(options: ["--set", "limits.readBytes=67108864"])
        let text = String(repeating: "t", count: 30_000)
        for _ in 0..<200 { try world.saveAndFollow(text: text) }
        let before = try world.memory()
        var requests: [UInt8] = []
        for id in 1...UInt32(WireLimits.requestsInFlight) {
            let fetch = Fetch(request: FetchDescriptor(entity: "Note"), kind: .rows)
            try FrameEncoder.encode(ClientMessage.fetch(fetch), id: id, into: &requests)
        }
        let greedy = try (0..<50).map { _ in
            let stranger = try world.guest()
            try stranger.writeAll(requests)
            try world.saveAndFollow()
            return stranger
        }
        for _ in 0..<20 { try world.saveAndFollow() }
        // Running reads and unread answers can each reach the limit. The same amount again can be
        // freed memory that the allocator keeps; the rest is memory of the connections.
        let after = try world.memory()
        #expect(after < before + 4 * 67_108_864, "\(before) bytes before, \(after) after")
        withExtendedLifetime(greedy) {}
        try world.finish()
    }

    @Test func `laws 7 and 8: descriptors sent with a message are not kept`() throws {
        let world = try HostileWorld()
        let before = try world.descriptors()
        let stranger = try world.guest()
        var status: [UInt8] = []
        for id in UInt32(1)...50 {
            status = []
            try FrameEncoder.encode(ClientMessage.status, id: id, into: &status)
            let sent = send(status, with: 20, over: stranger)
            #expect(sent == status.count, "errno \(errno)")
            try world.saveAndFollow()
        }
        #expect(try world.descriptorsComeDown(to: before + 1))
        withExtendedLifetime(stranger) {}
        try world.finish()
    }

    /// Sends bytes with `count` descriptors; returns the number of bytes sent.
    private func send(_ bytes: [UInt8], with count: Int, over socket: Socket) -> Int {
        let (head, size) = (MemoryLayout<cmsghdr>.size, MemoryLayout<Int32>.size)
        var control = [UInt8](repeating: 0, count: head + size * count)
        return control.withUnsafeMutableBytes { control in
            var header = cmsghdr()
            header.cmsg_len = head + size * count
            header.cmsg_level = SOL_SOCKET
            // SCM_RIGHTS, for which Swift has no name.
            header.cmsg_type = 1
            control.storeBytes(of: header, as: cmsghdr.self)
            for index in 0..<count {
                control.storeBytes(of: Int32(2), toByteOffset: head + size * index, as: Int32.self)
            }
            var copy = bytes
            return copy.withUnsafeMutableBytes { bytes in
                var part = iovec(iov_base: bytes.baseAddress, iov_len: bytes.count)
                return withUnsafeMutablePointer(to: &part) { part in
                    var message = msghdr()
                    message.msg_iov = part
                    message.msg_iovlen = 1
                    message.msg_control = control.baseAddress
                    message.msg_controllen = control.count
                    return sendmsg(socket.descriptor, &message, Int32(MSG_NOSIGNAL))
                }
            }
        }
    }
}
