// Package storetest runs one test on both databases, so that what a room does
// on SQLite it is known to do on PostgreSQL as well.
package storetest
