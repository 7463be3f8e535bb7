import TandemModel
import TandemWire
import Testing

/// The state tables on the protocol's page, compared with the state machines.
struct StateTableTests {
    @Test func `the client's table agrees with the state machine`() throws {
        let page = try ProtocolPage()
        let columns = page.columns("state", "connected")
        let rows = page.table("state", "connected")
        #expect(rows.count == 5)
        for row in rows {
            for (event, cell) in zip(columns, row).dropFirst() where cell != "trap" {
                var machine = client(in: row[0])
                #expect("\(machine.state)" == row[0])
                let action = fire(event, &machine)
                #expect("\(action) → \(machine.state)" == spelled(cell), "\(row[0]), \(event)")
            }
        }
    }

    @Test func `the daemon's table agrees with the state machine`() throws {
        let page = try ProtocolPage()
        let columns = page.columns("state", "hello")
        let rows = page.table("state", "hello")
        #expect(rows.count == 4)
        for row in rows {
            for (event, cell) in zip(columns, row).dropFirst() where cell != "trap" {
                var machine = session(in: row[0])
                #expect("\(machine.state)" == row[0])
                let action = fire(event, &machine)
                #expect("\(action) → \(machine.state)" == spelled(cell), "\(row[0]), \(event)")
            }
        }
    }

    /// Normalises a cell: a cell without an action begins with the arrow.
    private func spelled(_ cell: String) -> String { cell.hasPrefix("→") ? " " + cell : cell }

    /// Returns the name of an enum case, without its associated values.
    private func name(_ action: Any) -> String {
        String("\(action)".prefix { $0 != "(" })
    }

    // MARK: Client

    private func client(in state: String) -> ClientConnectionStateMachine {
        var machine = ClientConnectionStateMachine(hello: Hello())
        if state == "connecting" { return machine }
        _ = machine.connected()
        if state == "awaitingWelcome" { return machine }
        _ = machine.received(welcome, installsModel: state == "installingModel")
        if state == "closed" { _ = machine.closed() }
        return machine
    }

    private let welcome = Welcome(
        log: LogID(high: 1, low: 1), epoch: 1, position: 5, resumed: false, model: nil,
        lease: Lease(first: 1, count: 1, epoch: 1))

    private func fire(_ event: String, _ machine: inout ClientConnectionStateMachine) -> String {
        switch event {
        case "connected": return name(machine.connected())
        case "welcome": return name(machine.received(welcome))
        case "installed":
            machine.installedModel(position: 5)
            return ""
        case "push":
            return name(machine.received(push: machine.cursor, position: machine.cursor + 1))
        case "answer":
            let id = try? machine.begin()
            return name(machine.received(answer: id ?? 1, position: nil))
        case "handshakeTimedOut": return name(machine.handshakeTimedOut())
        case "closed":
            _ = machine.closed()
            return ""
        default: return "unknown event \(event)"
        }
    }

    // MARK: Daemon

    private func session(in state: String) -> DaemonSessionStateMachine {
        var machine = DaemonSessionStateMachine()
        if state == "awaitingHello" { return machine }
        _ = machine.received(Hello())
        if state == "greeting" { return machine }
        _ = machine.welcomed(cursor: 5)
        if state == "closed" { _ = machine.closed() }
        return machine
    }

    private func fire(_ event: String, _ machine: inout DaemonSessionStateMachine) -> String {
        switch event {
        case "hello": return name(machine.received(Hello()))
        case "welcomed": return name(machine.welcomed(cursor: 5))
        case "request": return name(machine.received(request: 1))
        case "answered":
            if machine.state == .ready { _ = machine.received(request: 1) }
            return name(machine.answered(id: 1, position: nil))
        case "pushing": return machine.pushing(6) == nil ? "nil" : "previous"
        case "helloTimedOut": return name(machine.helloTimedOut())
        case "closed":
            _ = machine.closed()
            return ""
        default: return "unknown event \(event)"
        }
    }
}
