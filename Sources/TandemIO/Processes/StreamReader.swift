import Glibc

/// Reads a pipe, a device or standard input, which can't be read at an offset.
///
/// Bound to one thread.
package final class StreamReader {
    private let descriptor: Int32
    private let path: String
    private let isOwned: Bool

    /// Reads a descriptor that stays open, by default that of standard input.
    package init(descriptor: Int32 = STDIN_FILENO) {
        (self.descriptor, path, isOwned) = (descriptor, "<standard input>", false)
    }

    /// Opens the stream at a path; waits for the writer of a named pipe.
    ///
    /// Throws ``IOError`` if the path can't be opened.
    package init(path: String) throws(IOError) {
        self.path = path
        isOwned = true
        switch retrying({ Int(Glibc.open(path, O_RDONLY | O_CLOEXEC)) }) {
        case .success(let opened): descriptor = Int32(opened)
        case .failure(let error): throw IOError(.open, path, errno: error.number)
        }
    }

    deinit { if isOwned { close(descriptor) } }

    /// Returns the next bytes, at most 64 KiB, waiting for them; empty at the end.
    ///
    /// Throws ``IOError`` if the stream can't be read.
    package func read() throws(IOError) -> [UInt8] {
        var bytes: [UInt8] = []
        let outcome = withUnsafeTemporaryAllocation(byteCount: 65_536, alignment: 1) { chunk in
            let result = retrying { Glibc.read(descriptor, chunk.baseAddress, chunk.count) }
            if case .success(let count) = result { bytes = Array(chunk[..<count]) }
            return result
        }
        if case .failure(let error) = outcome { throw IOError(.read, path, errno: error.number) }
        return bytes
    }
}
