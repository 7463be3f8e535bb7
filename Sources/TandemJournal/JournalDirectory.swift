import TandemIO

/// The names in a journal's directory.
enum JournalDirectory {
    /// Every segment's name ends so.
    static let suffix = ".journal"
    /// Held by the writer.
    static let lockName = "lock"
    /// The next segment while it is filled with zeros.
    static let spareName = "spare.new"
    /// A copy of what was cut off a segment ends so; before it the segment's name and the offset.
    static let tornSuffix = ".torn"
    /// The name of a segment's index ends so, in place of the segment's own ending.
    static let indexSuffix = ".index"
    /// An index while it is written.
    static let newIndexName = "index.new"
    /// There while a log is written with relaxed durability, and after that was cut short.
    static let relaxedName = "relaxed"

    /// The oldest position that trimming has left.
    static let oldestName = "oldest"

    /// "0000000000000001.journal" for 1.
    static func name(of position: UInt64) -> String { hexadecimal(position) + suffix }

    /// "0000000000000001.index" for the index of segment 1.
    static func indexName(of position: UInt64) -> String { hexadecimal(position) + indexSuffix }

    /// The first position that a segment's name tells; nil for other names.
    static func position(of name: String) -> UInt64? { position(of: name, suffix: suffix) }

    /// The first position that a name with some ending tells; nil for other names.
    private static func position(of name: String, suffix: String) -> UInt64? {
        guard name.hasSuffix(suffix) else { return nil }
        let digits = name.dropLast(suffix.count)
        let isPlain = digits.utf8.allSatisfy {
            (0x30...0x39).contains($0) || (0x61...0x66).contains($0)
        }
        guard digits.utf8.count == 16, isPlain else { return nil }
        return UInt64(digits, radix: 16)
    }

    /// The first positions of all segments, in order.
    static func segments(
        in directory: String, _ fileSystem: any FileSystem
    ) throws(JournalError) -> [UInt64] {
        let names = try converting(JournalError.unreadable) { () throws(IOError) in
            try fileSystem.list(directory)
        }
        return names.compactMap(position(of:)).sorted()
    }

    /// Removes what is left of indexes whose segments are gone, and of one that was not finished.
    ///
    /// What can't be removed does no harm: a reader holds each index against its segment.
    static func removeOrphans(in directory: String, _ fileSystem: any FileSystem) {
        guard let names = try? fileSystem.list(directory) else { return }
        let segments = Set(names.compactMap(position(of:)))
        for name in names {
            let first = position(of: name, suffix: indexSuffix)
            let isOrphan = first.map { !segments.contains($0) } ?? false
            if isOrphan || name == newIndexName { try? fileSystem.remove(directory + "/" + name) }
        }
    }

    /// The copies of what was cut off a segment, each with the offset that it was cut at.
    static func tornCopies(
        of first: UInt64, in directory: String, _ fileSystem: any FileSystem
    ) throws(IOError) -> [(offset: UInt64, path: String)] {
        let prefix = name(of: first) + "."
        return try fileSystem.list(directory).compactMap { name in
            guard name.hasPrefix(prefix), name.hasSuffix(tornSuffix) else { return nil }
            guard let offset = UInt64(name.dropFirst(prefix.count).prefix(16), radix: 16) else {
                return nil
            }
            return (offset, directory + "/" + name)
        }
    }

    /// A number as 16 hexadecimal digits.
    static func hexadecimal(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }
}
