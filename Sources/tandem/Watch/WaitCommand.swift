import ArgumentParser
import Tandem
import TandemIO

/// `tandem wait`: waits until the journal has reached a position.
struct WaitCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "wait", abstract: "Wait until the journal has reached a position.",
        discussion: """
            Prints the last position. Exits with 1 if the daemon answers but the position is not reached in time, and \
            with 3 if no daemon answers.
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: "The position, as NUMBER or NUMBER@EPOCH-LOG.")
    var position: String

    @Option(help: "The maximum number of seconds to wait.")
    var timeout: Double = 10

    func validate() throws {
        guard timeout >= 0 else { throw ValidationError("--timeout must not be negative") }
    }

    func run() throws {
        let container = global.container(isPatient: true)
        let limit = try TimeLimit(seconds: timeout, closing: container)
        do {
            // The daemon answers this request at once, so a later `timeout` error comes from the
            // wait.
            _ = try container.end()
            let number = try number(container)
            do {
                let end = try container.wait(forNumber: number, timeout: limit.secondsLeft)
                printLine(end.description)
            } catch let error as TandemError where error.code == .timeout {
                throw CommandFailure(error.message)
            }
        } catch let error as TandemError where error.code == .disconnected && limit.isOver {
            try global.throwUnanswered(within: timeout)
        }
    }

    private func number(_ container: PersistentContainer) throws -> UInt64 {
        if let number = UInt64(position) { return number }
        guard let position = Position(position) else {
            throw CommandFailure.notAPosition(position)
        }
        guard position.isComparable(with: try container.end()) else {
            throw CommandFailure(.foreign(position, remedy: "use a newer position"))
        }
        return position.number
    }
}

/// A time limit for all requests of a container, even if the daemon hangs.
private final class TimeLimit: Sendable {
    /// The time that the daemon may need to answer after the deadline, in nanoseconds.
    private static let grace: UInt64 = 1_000_000_000
    private let deadline: UInt64
    private let clock = SystemClock()

    /// Closes the container after the deadline, so that waiting requests fail with `disconnected`.
    init(seconds: Double, closing container: PersistentContainer) throws {
        let nanoseconds = UInt64(min(seconds, 4_000_000) * 1e9)
        deadline = clock.monotonicNanoseconds + nanoseconds
        _ = try KernelThread.start(name: "time limit") {
            KernelThread.sleep(nanoseconds: nanoseconds + Self.grace)
            container.close()
        }
    }

    var secondsLeft: Double { isOver ? 0 : Double(deadline - clock.monotonicNanoseconds) / 1e9 }

    var isOver: Bool { clock.monotonicNanoseconds >= deadline }
}
