import ArgumentParser
import Tandem
import TandemIO
import TandemWire

/// `tandem vacuum`: removes the oldest segments of the journal.
struct VacuumCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "vacuum", abstract: "Remove the oldest segments of the journal.",
        discussion: """
            Removes each segment that matches --size, --time or --before, except the segment in use. Segments that a \
            consumer, a client or a pin needs are kept, and these readers are listed. The command lists the segments \
            to be removed and asks for confirmation. The daemon removes them; with -D, the command removes them \
            itself, and the daemon must be stopped. Afterwards, a rebuild needs a backup.
            """)

    @OptionGroup var location: StoreLocationOptions

    @Option(help: "Remove segments until the journal is no larger than this, such as 512M or 2G.")
    var size: String?

    @Option(help: "Remove segments older than this, such as 12h or 30days.")
    var time: String?

    @Option(
        help: ArgumentHelp("Remove segments that end before this position.", valueName: "position"))
    var before: String?

    @Flag(help: "Also remove segments that are needed; their readers expire.")
    var force = false

    @Flag(help: "Show what would be removed, and remove nothing.")
    var dryRun = false

    @Flag(name: .shortAndLong, help: "Do not ask for confirmation.")
    var yes = false

    @Option(name: .shortAndLong, help: "The output format.")
    var output: OutputFormat = .short

    func validate() throws {
        guard size != nil || time != nil || before != nil else {
            throw ValidationError("give --size, --time or --before")
        }
        if let size, ByteText.number(size) == nil {
            throw ValidationError(
                "--size must be a number of bytes, such as 512M or 2G, not \(size)")
        }
        if let time, Self.seconds(time) == nil {
            throw ValidationError("--time must be a duration, such as 12h or 30days, not \(time)")
        }
    }

    func run() throws {
        let vacuum: any JournalVacuum =
            if let directory = location.directory {
                FolderVacuum(StoreFolder(directory))
            } else {
                DaemonVacuum(location.global.container())
            }
        var request = try request(vacuum)
        request.isDryRun = true
        let plan = try vacuum.run(request)
        show(plan, isDone: false)
        guard !dryRun, plan.segments > 0 else { return }
        try Confirmation.ask(VacuumText.question(plan, isForced: force), unless: yes)
        request.isDryRun = false
        show(try carryOut(request, vacuum, plan), isDone: true)
    }

    /// Repeats the request until there is nothing left to remove.
    private func carryOut(
        _ request: VacuumRequest, _ vacuum: any JournalVacuum, _ plan: VacuumAnswer
    ) throws -> VacuumAnswer {
        let progress = ProgressBar("vacuum")
        defer { progress.end() }
        var total = try vacuum.run(request)
        while total.isMore {
            progress.update(UInt64(total.segments), of: UInt64(plan.segments))
            let next = try vacuum.run(request)
            guard next.segments > 0 else { break }
            total = total.followed(by: next)
        }
        return total
    }

    private func request(_ vacuum: any JournalVacuum) throws -> VacuumRequest {
        VacuumRequest(
            keepBytes: size.flatMap(ByteText.number), keepSeconds: time.flatMap(Self.seconds),
            before: try before.map { try LogRangeOptions.number($0, vacuum.source()) },
            isForced: force)
    }

    private static func seconds(_ text: String) -> UInt64? {
        TimeArgument("-" + text, now: 0).map { UInt64(clamping: -$0.microseconds / 1_000_000) }
    }

    private func show(_ answer: VacuumAnswer, isDone: Bool) {
        if output == .json { return printLine(answer.json(isDryRun: !isDone).text) }
        VacuumText.lines(answer, isDone: isDone, isForced: force).forEach(printLine)
    }
}

/// A way to vacuum a journal: by the daemon or by this process.
protocol JournalVacuum {
    /// Returns the source used to look up positions.
    func source() throws -> any LogSource
    /// Carries out a request, or only plans it if it is a dry run.
    func run(_ request: VacuumRequest) throws -> VacuumAnswer
}

/// Vacuums the daemon's journal.
struct DaemonVacuum: JournalVacuum {
    private let container: PersistentContainer

    init(_ container: PersistentContainer) { self.container = container }

    func source() throws -> any LogSource {
        let source = DaemonSource(container)
        _ = try source.lastPosition()
        return source
    }

    func run(_ request: VacuumRequest) throws -> VacuumAnswer { try container.vacuum(request) }
}

extension VacuumAnswer {
    /// Returns the combined answer of this vacuum and the next one.
    func followed(by next: VacuumAnswer) -> VacuumAnswer {
        var sum = next
        sum.first = first
        sum.segments += segments
        sum.bytes += bytes
        return sum
    }
}
