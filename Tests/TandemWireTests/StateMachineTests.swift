import FuzzTargets
import TandemModel
import TandemWire
import TestSupport
import Testing

private let log = LogID(high: 1, low: 2)

private func welcome(_ position: UInt64, resumed: Bool = false, epoch: UInt32 = 1) -> Welcome {
    Welcome(
        log: log, epoch: epoch, position: position, resumed: resumed, model: nil,
        lease: Lease(first: 1, count: 1, epoch: 1))
}

private func readyClient() -> ClientConnectionStateMachine {
    var machine = ClientConnectionStateMachine(hello: Hello())
    _ = machine.connected()
    _ = machine.received(welcome(10))
    return machine
}

private func readySession(cursor: UInt64 = 10) -> DaemonSessionStateMachine {
    var machine = DaemonSessionStateMachine()
    _ = machine.received(Hello())
    _ = machine.welcomed(cursor: cursor)
    return machine
}

struct ClientConnectionStateMachineTests {
    @Test func `law 2: consecutive pushes are delivered`() throws {
        var machine = readyClient()
        #expect(machine.received(push: 10, position: 11) == .deliver)
        #expect(machine.received(push: 11, position: 15) == .deliver)
        let id = try machine.begin()
        #expect(machine.received(answer: id, position: 20) == .complete)
        #expect(machine.received(push: 20, position: 21) == .deliver)
        #expect(machine.cursor == 21)
    }

    @Test(arguments: [(9, 11), (11, 12), (10, 10), (10, 9)] as [(UInt64, UInt64)])
    func `law 2: a gap is detected and ends the connection`(previous: UInt64, position: UInt64) {
        var machine = readyClient()
        let action = machine.received(push: previous, position: position)
        #expect(action == .gap(expected: 10, got: previous))
        #expect(machine.state == .closed)
        #expect(machine.cursor == 10)
        #expect(machine.received(push: 10, position: 11) == .ignore)
    }

    @Test func `an older answer does not move the cursor`() throws {
        var machine = readyClient()
        #expect(machine.received(answer: try machine.begin(), position: 4) == .complete)
        #expect(machine.received(answer: try machine.begin(), position: nil) == .complete)
        #expect(machine.cursor == 10)
    }

    @Test func `a resumed session continues after the requested position`() {
        let hello = Hello(resume: Position(log: log, epoch: 1, number: 7))
        var machine = ClientConnectionStateMachine(hello: hello)
        #expect(machine.connected() == .send(hello))
        #expect(machine.received(welcome(10, resumed: true)) == .resume)
        #expect(machine.received(push: 7, position: 8) == .deliver)
    }

    @Test func `resuming in another epoch or beyond the end is a violation`() {
        for (number, epoch) in [(7, 2), (11, 1)] as [(UInt64, UInt32)] {
            let hello = Hello(resume: Position(log: log, epoch: 1, number: number))
            var machine = ClientConnectionStateMachine(hello: hello)
            _ = machine.connected()
            guard case .close = machine.received(welcome(10, resumed: true, epoch: epoch)) else {
                Issue.record("position \(number) of epoch \(epoch) was accepted")
                continue
            }
            #expect(machine.state == .closed)
        }
    }

    @Test func `law 8: requests in flight are limited`() throws {
        var machine = readyClient()
        let ids = try (0..<WireLimits.requestsInFlight).map { _ in try machine.begin() }
        #expect(Set(ids).count == WireLimits.requestsInFlight && !ids.contains(0))
        let error = #expect(throws: TandemError.self) { try machine.begin() }
        #expect(error?.code == .limitExceeded)
        #expect(machine.received(answer: ids[5], position: nil) == .complete)
        #expect(machine.received(answer: ids[5], position: nil) == .unknown)
        _ = try machine.begin()
        #expect(machine.inFlightCount == WireLimits.requestsInFlight)
    }

    @Test func `a failure answers a request or ends the connection`() throws {
        var machine = readyClient()
        let ids = [try machine.begin(), try machine.begin(), try machine.begin()]
        #expect(machine.received(failure: ids[1]) == .complete)
        #expect(machine.received(failure: ids[1]) == .unknown)
        #expect(machine.received(failure: 0) == .close(unanswered: [ids[0], ids[2]]))
        #expect(machine.closed() == [])
        let error = #expect(throws: TandemError.self) { try machine.begin() }
        #expect(error?.code == .disconnected)
    }
}

struct DaemonSessionStateMachineTests {
    @Test func `law 2: pushes name their predecessor`() {
        var machine = readySession()
        #expect(machine.pushing(12) == 10)
        #expect(machine.pushing(12) == nil)
        #expect(machine.received(request: 1) == .run)
        #expect(machine.answered(id: 1, position: 20) == true)
        #expect(machine.pushing(19) == nil)
        #expect(machine.pushing(21) == 20)
    }

    @Test func `a request id is used once at a time`() {
        var machine = readySession()
        #expect(machine.received(request: 1) == .run)
        #expect(machine.answered(id: 1, position: nil) == true)
        #expect(machine.received(request: 1) == .run)
        guard case .close = machine.received(request: 1) else {
            Issue.record("the id was accepted twice")
            return
        }
        #expect(machine.closed() == [1])
        #expect(machine.answered(id: 1, position: nil) == false)
    }

    @Test func `law 8: requests in flight are limited`() {
        var machine = readySession()
        for id in 1...WireLimits.requestsInFlight {
            #expect(machine.received(request: UInt32(id)) == .run)
        }
        guard case .refuse(let error) = machine.received(request: 1_000) else {
            Issue.record("the request was accepted")
            return
        }
        #expect(error.code == .limitExceeded)
        #expect(machine.state == .ready)
        #expect(machine.answered(id: 7, position: nil) == true)
        #expect(machine.received(request: 1_001) == .run)
    }

    @Test func `another version is refused with its number`() {
        var machine = DaemonSessionStateMachine()
        guard case .refuse(let error) = machine.received(Hello(protocolVersion: 9)) else {
            Issue.record("the hello was accepted")
            return
        }
        #expect(error.message.contains("version 9"))
        #expect(machine.state == .closed)
    }

    @Test func `law 2: both sides agree on the cursor over random sessions`() throws {
        var maker = MessageMaker(20)
        for _ in 0..<200 {
            var client = readyClient()
            var daemon = readySession()
            var waiting: [UInt32] = []
            for _ in 0..<100 {
                switch maker.int(0...2) {
                case 0:
                    guard client.inFlightCount < WireLimits.requestsInFlight else { continue }
                    let id = try client.begin()
                    #expect(daemon.received(request: id) == .run, "seed \(seed)")
                    waiting.append(id)
                case 1:
                    guard !waiting.isEmpty else { continue }
                    let id = waiting.remove(at: maker.int(0...(waiting.count - 1)))
                    let position = maker.maybe { UInt64($0.int(0...200)) }
                    #expect(daemon.answered(id: id, position: position) == true)
                    #expect(client.received(answer: id, position: position) == .complete)
                default:
                    let position = daemon.cursor + UInt64(maker.int(0...3))
                    guard let previous = daemon.pushing(position) else { continue }
                    let action = client.received(push: previous, position: position)
                    #expect(action == .deliver, "seed \(seed)")
                }
                #expect(client.cursor == daemon.cursor, "seed \(seed)")
            }
        }
    }
}
