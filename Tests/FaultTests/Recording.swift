/// The calls of a recorded process, in the order of their effects; see `Recorder/recorder.c`.
struct Recording: Sendable {
    /// One call that had an effect.
    enum Record: Sendable {
        /// A file or directory was opened.
        case open(fd: Int32, path: String, isNew: Bool, isDirectory: Bool, isCut: Bool)
        /// Bytes were written at an offset; immediately durable if `isSynced`.
        case write(fd: Int32, offset: Int, bytes: [UInt8], isSynced: Bool)
        /// A file's bytes or a directory's names were made durable.
        case sync(fd: Int32)
        case truncate(fd: Int32, size: Int)
        /// Space for a file was allocated up to a size.
        case allocate(fd: Int32, size: Int)
        case rename(old: String, new: String)
        case unlink(path: String)
        case makeDirectory(path: String)
        /// Bytes were sent to a client.
        case send(fd: Int32, bytes: [UInt8])
        case close(fd: Int32)
        /// A fault was injected.
        case fault(String)
        /// Another process takes over: descriptors and connections are lost, the page cache is
        /// kept.
        case restart
    }

    private(set) var records: [Record] = []

    /// Reads a recorder's log; a record truncated by a kill is ignored.
    init(log: [UInt8]) {
        log.withUnsafeBytes { bytes in
            var offset = 0
            while offset + 24 <= bytes.count {
                let size = Int(bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
                guard size >= 24, offset + size <= bytes.count else { break }
                let record = UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + size])
                if let record = Self.record(record) { records.append(record) }
                offset += size
            }
        }
    }

    private static func record(_ bytes: UnsafeRawBufferPointer) -> Record? {
        let (kind, flags) = (bytes[4], bytes[5])
        let fd = bytes.loadUnaligned(fromByteOffset: 8, as: Int32.self)
        let number = Int(bytes.loadUnaligned(fromByteOffset: 16, as: Int64.self))
        let body = [UInt8](UnsafeRawBufferPointer(rebasing: bytes[24...]))
        func text() -> String { String(decoding: body, as: UTF8.self) }
        switch kind {
        case 1:
            return .open(
                fd: fd, path: text(), isNew: flags & 1 != 0, isDirectory: flags & 2 != 0,
                isCut: flags & 8 != 0)
        case 2: return .write(fd: fd, offset: number, bytes: body, isSynced: flags & 4 != 0)
        case 3: return .sync(fd: fd)
        case 4: return .truncate(fd: fd, size: number)
        case 5: return .allocate(fd: fd, size: number)
        case 6:
            let names = body.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
            return names.count == 2 ? .rename(old: names[0], new: names[1]) : nil
        case 7: return .unlink(path: text())
        case 8: return .makeDirectory(path: text())
        case 9: return .send(fd: fd, bytes: body)
        case 10: return .close(fd: fd)
        case 11: return .fault(text())
        default: return nil
        }
    }

    /// The injected faults.
    var faults: [String] {
        records.compactMap { if case .fault(let text) = $0 { text } else { nil } }
    }
}
