import ArgumentParser
import Tandem

/// `tandem wait`: returns when the journal has reached a position.
struct WaitCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "wait", abstract: "Waits until the journal has reached a position.")

    @OptionGroup var global: GlobalOptions

    @Argument(help: "A number, or a position as a save printed it.")
    var position: String

    @Option(help: "Seconds to wait at most.")
    var timeout: Double = 10

    func validate() throws {
        guard timeout >= 0 else { throw ValidationError("--timeout takes seconds from 0 on") }
    }

    func run() throws {
        let container = global.container(isPatient: true)
        printLine(try container.wait(for: try number(container), timeout: timeout).description)
    }

    private func number(_ container: PersistentContainer) throws -> UInt64 {
        if let number = UInt64(position) { return number }
        guard let position = Position(position) else {
            throw CommandFailure(
                "`\(position)` is no position; give NUMBER or NUMBER@EPOCH-LOG", code: 2)
        }
        guard position.isComparable(with: try container.end()) else {
            throw CommandFailure(
                "\(position) is of another log or epoch than this daemon's", code: 5)
        }
        return position.number
    }
}
