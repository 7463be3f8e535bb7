import ArgumentParser
import Tandem

/// `tandem disk-usage`: the sizes of files.
struct DiskUsageCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "disk-usage",
        abstract: "Lists the files of a store and its journal, and what each holds.",
        discussion: """
            It reads the directory itself, so it needs the right to. `tandem vacuum` gives up segments of the \
            journal; copies and leftovers may be removed when nobody needs them any more.
            """)

    @OptionGroup var place: StoreLocationOptions

    @Option(name: .shortAndLong, help: "short or json.")
    var output: OutputFormat = .short

    func run() throws {
        let usage = try DiskUsage(try place.folder())
        if output == .json {
            usage.files.forEach { printLine($0.json.text) }
        } else {
            usage.lines.forEach(printLine)
        }
        if usage.damaged > 0 {
            throw CommandFailure(
                "\(Quantity.count(usage.damaged, "segment")) damaged; `tandem verify` says more")
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
            return count == 0 ? nil : "\(kind.rawValue) \(ByteText.text(bytes(kind))) in \(count)"
        }
        return rows.map { "\($0.0.padded(to: width))\($0.1.padded(to: 12))\($0.2)".trimmed }
            + ["\(ByteText.text(bytes())) in all: " + sums.joined(separator: ", ")]
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
