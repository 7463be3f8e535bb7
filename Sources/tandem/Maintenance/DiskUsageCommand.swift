import ArgumentParser
import Tandem

/// `tandem disk-usage`: lists the files of a store and their sizes.
struct DiskUsageCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "disk-usage",
        abstract: "List the files of a store and its journal.",
        discussion: """
            The command needs permission to read the directory. `tandem vacuum` removes segments of the journal. \
            Copies and leftovers may be removed if they are not needed.
            """)

    @OptionGroup var location: StoreLocationOptions

    @Option(name: .shortAndLong, help: "The output format.")
    var output: OutputFormat = .short

    func run() throws {
        let usage = try DiskUsage(try location.folder())
        if output == .json {
            usage.files.forEach { printLine($0.json.text) }
        } else {
            usage.lines.forEach(printLine)
        }
        if usage.damaged > 0 {
            throw CommandFailure(
                "\(Quantity.count(usage.damaged, "segment")) damaged; `tandem verify` lists all damage"
            )
        }
    }
}

extension DiskUsage {
    /// A line for each file, and the totals by kind.
    var lines: [String] {
        let rows = files.map { ($0.name, ByteText.text($0.bytes), $0.holds) }
        let width = (rows.map(\.0.count).max() ?? 0) + 2
        let sums = Kind.allCases.compactMap { kind in
            let count = files.count { $0.kind == kind }
            return count == 0
                ? nil
                : "\(kind.rawValue) \(ByteText.text(bytes(kind))) in \(Quantity.count(count, "file"))"
        }
        return rows.map { "\($0.0.padded(to: width))\($0.1.padded(to: 12))\($0.2)".trimmed }
            + ["total \(ByteText.text(bytes())): " + sums.joined(separator: ", ")]
    }
}

extension DiskUsage.File {
    /// The file as a JSON object, printed on one line.
    fileprivate var json: JSON {
        func number(_ value: UInt64?) -> JSON { value.map { .int(Int64(clamping: $0)) } ?? .null }
        return .object([
            "kind": .string(kind.rawValue), "name": .string(name), "bytes": number(bytes),
            "first": number(positions?.first), "last": number(positions?.last),
            "holds": .string(holds),
        ])
    }
}
