import Foundation
import MediaCLI

@main
enum Main {
    static func main() async {
        exit(await Program.run())
    }
}
