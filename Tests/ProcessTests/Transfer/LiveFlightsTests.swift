import Foundation
import Tandem
import TandemIO
import TestSupport
import TestWorlds
import Testing

/// A list of flights by airline and day, observed while `tandem import` adds the flights.
@MainActor @Suite struct LiveFlightsTests: StoreSuite {
    private static let flights = Volume.of(4_500, deep: 9_000)
    private static let airlines = ["AA", "UA", "DL", "B6"]
    let place: Place

    init() throws { place = try Place() }

    private func text(_ name: String) throws -> String {
        try String(contentsOfFile: Place.flights + "/" + name, encoding: .utf8)
    }

    /// Writes a few planes and airports, and flights that also name others, as in the real data.
    private func makeData() throws {
        try FileManager.default.createDirectory(
            atPath: place.path + "/data", withIntermediateDirectories: true)
        try file("map.json", text("map.json").replacing("flights.csv.gz", with: "flights.csv"))
        try file(
            "data/airlines.csv",
            "carrier,name\n" + Self.airlines.map { "\($0),\($0) Air\n" }.joined())
        try file(
            "data/airports.csv",
            "faa,name,lat,lon,alt,tz,dst,tzone\nEWR,Newark,40.7,-74.2,18,-5,A,America/New_York\n")
        try file(
            "data/planes.csv",
            "tailnum,year,type,manufacturer,model,engines,seats,speed,engine\n"
                + "N1,2004,Fixed wing,BOEING,737,2,100,NA,Turbo-fan\n")
        var rows =
            "year,month,day,dep_time,sched_dep_time,dep_delay,arr_time,sched_arr_time,arr_delay,"
            + "carrier,flight,tailnum,origin,dest,air_time,distance,hour,minute,time_hour\n"
        for number in 0..<Self.flights {
            rows +=
                "2013,1,\(number % 31 + 1),517,515,2,830,819,11,"
                + "\(Self.airlines[number % 4]),\(number),N\(number % 90),EWR,IAH,227,1400,5,15,"
                + "2013-01-01T10:00:00Z\n"
        }
        try file("data/flights.csv", rows)
    }

    private func list(_ context: ManagedObjectContext) throws -> FetchedResultsController<
        ManagedObject
    > {
        let sort = ["airline.code", "day", "number"].compactMap { SortKey($0) }
        let controller = try FetchedResultsController(
            fetchRequest: FetchRequest(entity: "Flight", sort: sort), context: context,
            sectionNameKeyPath: "airline.code")
        try controller.performFetch()
        return controller
    }

    private func container() throws -> PersistentContainer {
        PersistentContainer(
            model: try ManagedObjectModel(parsing: try text("model.json")), socket: place.socket,
            author: "board"
        )
    }

    @Test func `law 5: the list of the flights is complete at every position of their import`()
        throws
    {
        try place.serve()
        try makeData()
        let board = try container()
        defer { board.close() }
        let context = board.makeContext(name: "board")
        let shown = try list(context)
        #expect(shown.sections.isEmpty)
        let child = try ChildProcess.start(
            DaemonProcess.products + "/tandem",
            [
                "import", place.path + "/data", "--map", place.path + "/map.json", "--socket",
                place.socket,
            ], output: .null)
        var counts: Set<Int> = []
        while child.status == nil {
            try context.resume()
            counts.insert(shown.fetchedObjectIDs.count)
            #expect(
                shown.sections.reduce(0) { $0 + $1.numberOfObjects }
                    == shown.fetchedObjectIDs.count)
        }
        #expect(child.wait() == .exited(0))
        try context.resume()
        #expect(counts.count > 2, "the list was seen to grow: \(counts)")
        #expect(shown.sections.map(\.name) == Self.airlines.sorted())
        #expect(
            shown.sections.map(\.numberOfObjects) == Array(repeating: Self.flights / 4, count: 4))
        let other = try container()
        defer { other.close() }
        let fresh = try list(other.makeContext(name: "other"))
        #expect(shown.fetchedObjectIDs == fresh.fetchedObjectIDs)
    }
}
