import Glibc

/// A handler for bus errors (SIGBUS), which occur if a mapped file was truncated or its disk
/// failed.
///
/// No call returns an error for such a failure. Without a handler the process would crash without
/// naming the file.
public enum BusErrors {
    /// Installs a handler that prints `line` and ends the process with `code` on the next bus
    /// error.
    ///
    /// The line goes to standard error unless another descriptor is given.
    public static func end(with code: Int32, saying line: String, descriptor: Int32 = 2) {
        let bytes = Array((line + "\n").utf8)
        let room = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
        room.copyBytes(from: bytes)
        exitMessage = (UnsafeRawBufferPointer(room), code, descriptor)
        _ = signal(SIGBUS) { _ in
            let (line, code, descriptor) = exitMessage
            _ = write(descriptor, line.baseAddress, line.count)
            _exit(code)
        }
    }
}

// Set by the main thread before the handler is installed; the handler only reads it.
nonisolated(unsafe) private var exitMessage:
    (line: UnsafeRawBufferPointer, code: Int32, descriptor: Int32) =
        (UnsafeRawBufferPointer(start: nil, count: 0), 0, 2)
