import Glibc

extension Socket {
    /// Reads the available bytes, up to the size of the buffer, which must not be empty.
    ///
    /// A blocking socket waits for the first byte, at most for the time set by
    /// ``setReadTimeout(milliseconds:)``.
    public func read(into buffer: UnsafeMutableRawBufferPointer) throws(IOError) -> ReadResult {
        try read(into: buffer, waits: true)
    }

    /// Reads the available bytes; a blocking socket waits for them only if `waits` is true.
    public func read(
        into buffer: UnsafeMutableRawBufferPointer, waits: Bool
    ) throws(IOError) -> ReadResult {
        precondition(!buffer.isEmpty, "The buffer of a read must not be empty.")
        let flags = waits ? 0 : Int32(MSG_DONTWAIT)
        switch retrying({ recv(descriptor, buffer.baseAddress, buffer.count, flags) }) {
        case .success(0): return .closed
        case .success(let count): return .bytes(count)
        case .failure(let error):
            if Self.meansWait(error.number) { return .wouldBlock }
            if Self.meansClosed(error.number) { return .closed }
            throw IOError(.read, name, errno: error.number)
        }
    }

    /// Reads the available bytes, polling for up to `nanoseconds` until there are some.
    ///
    /// Polling occupies the core.
    ///
    /// Polls at least once. Worthwhile if the bytes arrive sooner than a sleeping thread can be
    /// woken (``SpinPolicy``).
    public func read(
        into buffer: UnsafeMutableRawBufferPointer, spinningFor nanoseconds: UInt64
    ) throws(IOError) -> ReadResult {
        let begin = SystemClock.monotonicNanoseconds
        while true {
            let result = try read(into: buffer, waits: false)
            guard result == .wouldBlock,
                SystemClock.monotonicNanoseconds - begin < nanoseconds
            else { return result }
        }
    }

    /// Writes as many bytes as the socket accepts at once; a blocking socket waits for space.
    public func write(_ bytes: UnsafeRawBufferPointer) throws(IOError) -> WriteResult {
        try write(bytes, waits: true)
    }

    /// Writes as many bytes as the socket accepts at once.
    ///
    /// A blocking socket waits for space only if `waits` is true.
    public func write(
        _ bytes: UnsafeRawBufferPointer, waits: Bool
    ) throws(IOError) -> WriteResult {
        guard !bytes.isEmpty else { return .bytes(0) }
        let flags = Int32(MSG_NOSIGNAL) | (waits ? 0 : Int32(MSG_DONTWAIT))
        return try result(
            retrying { send(descriptor, bytes.baseAddress, bytes.count, flags) })
    }

    /// Writes several buffers in order: as many bytes as the socket accepts at once.
    ///
    /// One call considers at most 64 buffers.
    public func write(_ buffers: [UnsafeRawBufferPointer]) throws(IOError) -> WriteResult {
        let count = min(buffers.count, 64)
        let outcome = withUnsafeTemporaryAllocation(of: iovec.self, capacity: max(count, 1)) {
            vectors in
            for index in 0..<count {
                vectors[index] = iovec(
                    iov_base: UnsafeMutableRawPointer(mutating: buffers[index].baseAddress),
                    iov_len: buffers[index].count)
            }
            var message = msghdr()
            message.msg_iov = vectors.baseAddress
            message.msg_iovlen = count
            return retrying { sendmsg(descriptor, &message, Int32(MSG_NOSIGNAL)) }
        }
        return try result(outcome)
    }

    /// Reads at least one byte, waiting for it; returns 0 if the peer has closed the connection.
    ///
    /// Intended for blocking sockets; on a non-blocking one, it waits with `poll`.
    public func readSome(into buffer: UnsafeMutableRawBufferPointer) throws(IOError) -> Int {
        while true {
            switch try read(into: buffer) {
            case .bytes(let count): return count
            case .closed: return 0
            case .wouldBlock: try wait(for: Int16(POLLIN))
            }
        }
    }

    /// Waits until bytes can be read or the peer has closed the connection; returns false on a
    /// timeout.
    ///
    /// A negative timeout waits indefinitely.
    public func waitReadable(milliseconds: Int32) throws(IOError) -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return try check(.poll, name) { poll(&entry, 1, milliseconds) } > 0
    }

    /// Writes all bytes, waiting for space; throws `EPIPE` if the peer has closed the connection.
    public func writeAll(_ bytes: UnsafeRawBufferPointer) throws(IOError) {
        var rest = bytes
        while !rest.isEmpty {
            switch try write(rest) {
            case .bytes(let count): rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            case .closed: throw IOError(.write, name, errno: EPIPE)
            case .wouldBlock: try wait(for: Int16(POLLOUT))
            }
        }
    }

    /// Writes all bytes of an array, waiting for space.
    public func writeAll(_ bytes: [UInt8]) throws(IOError) {
        var failure: IOError?
        bytes.withUnsafeBytes { buffer in
            do throws(IOError) {
                try writeAll(buffer)
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
    }

    private func wait(for events: Int16) throws(IOError) {
        var entry = pollfd(fd: descriptor, events: events, revents: 0)
        try check(.poll, name) { poll(&entry, 1, -1) }
    }

    private func result(_ outcome: Result<Int, Errno>) throws(IOError) -> WriteResult {
        switch outcome {
        case .success(let count): return .bytes(count)
        case .failure(let error):
            if Self.meansWait(error.number) { return .wouldBlock }
            if Self.meansClosed(error.number) { return .closed }
            throw IOError(.write, name, errno: error.number)
        }
    }

    private static func meansWait(_ number: Int32) -> Bool {
        number == EAGAIN || number == EWOULDBLOCK
    }

    private static func meansClosed(_ number: Int32) -> Bool {
        number == EPIPE || number == ECONNRESET || number == ENOTCONN
    }
}
