import FoundationEssentials
import Glibc
import Tandem

/// P3: the time from the start of a save in this process until another process has received the
/// change and shows it in its list.
@MainActor
struct PropagationBenchmark {
    let socket: String
    let folder: String
    let n: Int

    func run() throws {
        let ids = try BenchData(contents: n).seed(socket)
        for (pass, delivery) in PropagationReader.Delivery.allCases.enumerated() {
            var floor = try DiskFloor(folder: folder)
            let times = try measure(pass, delivery, ids, &floor)
            ResultLine(
                scenario: "p3", peer: delivery.peer, n: n, metric: "commit_to_list_updated",
                values: times, floor: floor.microseconds,
                notes: [("reader", quoted(delivery.note))]
            ).emit()
        }
    }

    private func measure(
        _ pass: Int, _ delivery: PropagationReader.Delivery, _ ids: [ObjectID],
        _ floor: inout DiskFloor
    ) throws -> [Double] {
        let updates = Updates(pass: pass, contents: n).updates
        let container = container(socket, "writer")
        defer { container.close() }
        let context = container.makeContext(name: "p3")
        let objects = try updates.map { update in
            try context.existingObject(with: ids[update.index]) as? Content
        }
        let reader = try BenchProcess([
            "p3-reader", "\(n)", socket, folder, delivery.rawValue, "\(pass)",
        ])
        _ = try reader.wait(for: 0)
        var times: [Double] = []
        for (i, update) in updates.enumerated() {
            try floor.measure()
            usleep(update.pause)
            let start = now()
            objects[i]?.creationDate = Date(timeIntervalSince1970: update.creationDate)
            let position = try context.save()
            let end = try reader.wait(for: position.number)
            if i >= Updates.warmUp { times.append(microseconds(from: start, to: end)) }
        }
        try reader.finish()
        return times
    }
}
