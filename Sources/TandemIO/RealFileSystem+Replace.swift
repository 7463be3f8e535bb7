import Glibc

extension RealFileSystem {
    /// Gives a file new content in one step: readers see the old or the new, never a part.
    ///
    /// The bytes are written beside it, under a name of this process, and renamed into place with the
    /// given mode. It is not flushed: after a power cut the file may be old or empty.
    public func replace(
        _ path: String, with bytes: [UInt8], mode: UInt32 = 0o644
    ) throws(IOError) {
        let temporary = "\(path).\(getpid()).tmp"
        try? remove(temporary)
        do throws(IOError) {
            let file = try open(temporary, .createNew)
            defer { file.close() }
            try file.write(bytes, at: 0)
            try check(.changeMode, temporary) { chmod(temporary, mode) }
            try rename(temporary, to: path)
        } catch {
            try? remove(temporary)
            throw error
        }
    }
}
