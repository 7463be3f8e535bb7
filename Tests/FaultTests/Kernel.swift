import Glibc

/// Calls that no library of ours wraps.
enum Kernel {
    /// Reads from a descriptor; 0 at its end or when it failed.
    static func read(_ descriptor: Int32, _ buffer: UnsafeMutableRawBufferPointer) -> Int {
        while true {
            let count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
            if count >= 0 { return count }
            guard errno == EINTR else { return 0 }
        }
    }
}
