import Glibc

/// System calls that no library of the project wraps.
enum Kernel {
    /// Reads from a descriptor; returns 0 at its end or after an error.
    static func read(_ descriptor: Int32, _ buffer: UnsafeMutableRawBufferPointer) -> Int {
        while true {
            let count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
            if count >= 0 { return count }
            guard errno == EINTR else { return 0 }
        }
    }
}
