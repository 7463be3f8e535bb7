import Glibc

extension Socket {
    /// Reads what is there, up to the buffer's size; the buffer must not be empty.
    ///
    /// A socket that blocks waits for the first byte, at most as long as ``setReadTimeout(milliseconds:)`` said.
    public func read(into buffer: UnsafeMutableRawBufferPointer) throws(IOError) -> ReadResult {
        try read(into: buffer, waits: true)
    }

    /// Reads what is there; a socket that blocks does not wait for it unless `waits` is true.
    public func read(
        into buffer: UnsafeMutableRawBufferPointer, waits: Bool
    ) throws(IOError) -> ReadResult {
        precondition(!buffer.isEmpty, "a read needs room for at least one byte")
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

    /// Reads what is there, looking again and again for so long until there is something; takes the core for itself meanwhile.
    ///
    /// Looks once at least. Worth it where what is waited for comes sooner than a sleeping thread is woken (``SpinPolicy``).
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

    /// Writes as many of the bytes as are taken at once; a socket that blocks waits for room.
    public func write(_ bytes: UnsafeRawBufferPointer) throws(IOError) -> WriteResult {
        try write(bytes, waits: true)
    }

    /// Writes as many of the bytes as are taken at once; a socket that blocks does not wait for room unless `waits` is true.
    public func write(
        _ bytes: UnsafeRawBufferPointer, waits: Bool
    ) throws(IOError) -> WriteResult {
        guard !bytes.isEmpty else { return .bytes(0) }
        let flags = Int32(MSG_NOSIGNAL) | (waits ? 0 : Int32(MSG_DONTWAIT))
        return try result(
            retrying { send(descriptor, bytes.baseAddress, bytes.count, flags) })
    }

    /// Writes as many bytes of several buffers, in order, as are taken at once.
    ///
    /// At most 64 buffers are looked at in one call.
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

    /// Reads at least one byte, waiting for it; 0 when the other side is gone.
    ///
    /// For sockets that block; on one that does not, it waits by polling.
    public func readSome(into buffer: UnsafeMutableRawBufferPointer) throws(IOError) -> Int {
        while true {
            switch try read(into: buffer) {
            case .bytes(let count): return count
            case .closed: return 0
            case .wouldBlock: try wait(for: Int16(POLLIN))
            }
        }
    }

    /// Waits until there is something to read or the other side is gone; false when the time is up.
    ///
    /// Less than no time at all means for ever.
    public func waitReadable(milliseconds: Int32) throws(IOError) -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return try check(.poll, name) { poll(&entry, 1, milliseconds) } > 0
    }

    /// Writes all bytes, waiting for room; throws `EPIPE` when the other side is gone.
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

    /// Writes all bytes of an array, waiting for room.
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
