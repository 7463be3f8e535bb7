import Foundation
import Tandem
import TodoModel

/// A file of lines, each with the position of its save, so that a change that is delivered twice is
/// written once.
struct Outbox {
    let file: FileHandle
    var last: Position?

    init(_ path: String) throws {
        if !FileManager.default.fileExists(atPath: path) {
            try Data().write(to: URL(filePath: path))
        }
        file = try FileHandle(forUpdating: URL(filePath: path))
        let text = String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self)
        // A line that a crash cut off is written again.
        let complete = text.lastIndex(of: "\n").map { text[...$0] } ?? ""
        try file.truncate(atOffset: UInt64(complete.utf8.count))
        last = complete.split(separator: "\n").last.flatMap {
            Position(String($0.prefix { $0 != " " }))
        }
    }

    /// Writes the lines of one save, and flushes them.
    mutating func append(_ lines: [String], at position: Position) throws {
        try file.write(contentsOf: Data(lines.map { "\(position) \($0)\n" }.joined().utf8))
        try file.synchronize()
        last = position
    }
}

let container = try PersistentContainer.open(
    entities: [List.self, Item.self], author: "mailer")
let consumer = try await container.consumer(named: "mailer")
print("continuing after \(consumer.acknowledged)")
fflush(nil)
var outbox = try Outbox(CommandLine.arguments[1])
var lines: [String] = []
for try await change in consumer.changes(of: Item.self, properties: [\.isDone]) {
    let isNew = outbox.last.map { change.position > $0 } ?? true
    if isNew, let item = change.after, item[\.isDone] == true {
        lines.append("\(change.author) completed \(item[\.title] ?? "an item")")
    }
    guard change.isLastOfSave else { continue }
    if !lines.isEmpty {
        try outbox.append(lines, at: change.position)
        print("sent \(lines.joined(separator: ", "))")
        fflush(nil)
    }
    lines = []
    try await consumer.acknowledge(change)
}
