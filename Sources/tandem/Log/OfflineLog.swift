import Tandem
import TandemIO
import TandemJournal

/// `tandem log -D`: the segments of a directory, read only; what is damaged is reported as a gap and skipped.
struct OfflineLog {
    private let directory: String
    private let options: LogCommand

    init(_ directory: String, _ options: LogCommand) {
        let files = RealFileSystem()
        let nested = directory + "/journal"
        self.directory = files.exists(nested) ? nested : directory
        self.options = options
    }

    func run() throws {
        let reader = JournalReader(
            directory: directory, fileSystem: RealFileSystem(), from: try first())
        var state = State()
        while let item = try next(reader) { try take(item, &state) }
        if let problem = reader.tailProblem { report(problem, "the last batch is torn") }
        for shown in options.reverse ? state.kept.reversed() : state.kept { shown() }
        if state.gaps > 0 { throw CommandFailure("\(state.gaps) gaps in \(directory)") }
    }

    /// The position where the oldest segment begins; what was given up before it is no damage.
    private func first() throws -> UInt64 {
        let names: [String]
        do {
            names = try RealFileSystem().list(directory)
        } catch {
            throw CommandFailure("\(error); -D takes the directory of a store")
        }
        let suffix = ".journal"
        let segments = names.filter { $0.hasSuffix(suffix) }
            .compactMap { UInt64($0.dropLast(suffix.count), radix: 16) }
        guard let first = segments.min() else {
            throw CommandFailure(
                "there is no journal in \(directory); -D takes the directory of a store")
        }
        if let from = options.from, max(from, 1) < first {
            throw CommandFailure(
                "position \(from) is no longer kept, the oldest is \(first); use --from \(first)",
                code: 5)
        }
        return first
    }

    /// What reading has come to: the models so far, transactions kept for the end, gaps met.
    private struct State {
        var book = ModelBook()
        var kept: [() -> Void] = []
        var gaps = 0
    }

    private func next(_ reader: JournalReader) throws -> JournalReader.Item? {
        do {
            return try reader.next()
        } catch {
            throw CommandFailure("\(error)", code: error.code == .expired ? 5 : 1)
        }
    }

    private func take(_ item: JournalReader.Item, _ state: inout State) throws {
        switch item {
        case .gap(let gap):
            state.gaps += 1
            report(gap, "gap")
        case .entry(let entry):
            do {
                let encoded = try EncodedTransaction(bytes: entry.payload)
                let transaction = try encoded.decoded()
                try state.book.note(transaction)
                show(transaction, &state)
            } catch {
                state.gaps += 1
                StandardStream.error.write("tandem: transaction \(entry.position): \(error)\n")
            }
        }
    }

    private func show(_ transaction: Transaction, _ state: inout State) {
        let model = state.book.model(for: transaction)
        guard options.wants(transaction), isOfEntity(transaction, model) else { return }
        let options = options
        guard options.reverse || options.lines != nil else {
            return options.print(transaction, nil, model)
        }
        state.kept.append { options.print(transaction, nil, model) }
        if let lines = options.lines, state.kept.count > lines { state.kept.removeFirst() }
    }

    private func isOfEntity(_ transaction: Transaction, _ model: CompiledModel?) -> Bool {
        guard !options.entity.isEmpty else { return true }
        return transaction.changes.contains { change in
            options.entity.contains { name in
                model?.entity(named: name)?.includes(change.object.tag) ?? false
            }
        }
    }

    private func report(_ gap: JournalReader.Gap, _ what: String) {
        StandardStream.error.write(
            "tandem: \(what): \(gap.path) offset \(gap.offset): \(gap.reason)\n")
    }
}
